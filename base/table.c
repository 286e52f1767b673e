#include "base/table.h"
