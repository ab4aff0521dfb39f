#include "CWaybillCurl.h"
