#include "base/mem.h"
