#include "base/canon.h"
