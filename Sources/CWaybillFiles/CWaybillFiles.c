#include "CWaybillFiles.h"
