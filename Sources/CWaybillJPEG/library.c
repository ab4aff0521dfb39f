#include "CWaybillJPEG.h"

#include <stdio.h>

#include <jpeglib.h>

#define WB_TEXT_OF(x) #x
#define WB_TEXT(x) WB_TEXT_OF(x)

const char *wb_jpeg_library_version(void) {
#ifdef LIBJPEG_TURBO_VERSION
    return WB_TEXT(LIBJPEG_TURBO_VERSION);
#else
    return "not turbo, API " WB_TEXT(JPEG_LIB_VERSION);
#endif
}
