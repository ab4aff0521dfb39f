// Performance-critical loops are compiled twice from the same C code: for the baseline of the architecture, and for
// x86-64 with AVX2, selected at run time. On other architectures, only the first variant exists.
#pragma once

#if defined(__x86_64__)

#define WB_WIDE __attribute__((target("avx2,fma")))

static inline int wb_is_wide(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

// Defines the function `name` from the inlined `name_body`: both take `parameters`, and `arguments` passes them on.
#define WB_TWICE(type, name, parameters, arguments)                        \
    WB_WIDE static type name##_wide parameters { return name##_body arguments; } \
    type name parameters { return wb_is_wide() ? name##_wide arguments : name##_body arguments; }

#else

#define WB_TWICE(type, name, parameters, arguments) \
    type name parameters { return name##_body arguments; }

#endif

#define WB_BODY static inline __attribute__((always_inline))
