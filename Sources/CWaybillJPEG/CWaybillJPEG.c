#include "CWaybillJPEG.h"
