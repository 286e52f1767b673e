/* trace/dtrace_format.h - numbers that the .dtrace writer and reader share; the
 * format itself is stated in dtrace.h.
 * Uses: nothing of ours.  Used by: trace/dtrace_encode.c, trace/dtrace_decode.c. */
#ifndef DT_TRACE_DTRACE_FORMAT_H
#define DT_TRACE_DTRACE_FORMAT_H

#define DT_TRACE_MAGIC "DTRACE1\n"
#define DT_TRACE_MAGIC_BYTES 8
#define DT_TRACE_VERSION 1

#define DT_TRACE_BLOCK_MAGIC 0x4b4c4244u
#define DT_TRACE_BLOCK_HEAD 24   /* bytes in front of a payload            */
#define DT_TRACE_BLOCK_HASHED 16 /* of which the checksum covers the first */
#define DT_TRACE_BLOCK_ZSTD 1    /* flag                                   */

enum { DT_TRACE_HEADER = 1, DT_TRACE_CALLS = 2, DT_TRACE_END = 3 };
enum {
    DT_TRACE_COL_COUNT = 1,
    DT_TRACE_COL_REQUESTS = 2,
    DT_TRACE_COL_SYNTHETIC = 3,
    DT_TRACE_COL_FIELD = 16,
    DT_TRACE_COL_ID = 32,
};
enum { DT_TRACE_ENC_VARINT = 1, DT_TRACE_ENC_DELTA = 2, DT_TRACE_ENC_RUN = 3 };

#endif
