#include "base/digest.h"
