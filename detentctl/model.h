/* detentctl/model.h - a decoder's shape, from a Hugging Face config.json.
 * Uses: base/, Jansson.  Used by: cmd_deployment_new.c. */
#ifndef DT_CTL_MODEL_H
#define DT_CTL_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct dt_model {
    int64_t hidden, layers, q_heads, kv_heads, head_dim, vocab, context;
    int64_t intermediate;             /* of a dense layer; 0: there is none        */
    int64_t experts, top_k, expert_intermediate; /* 0: dense                       */
    int64_t window;                   /* keys to the left of a token; -1: all      */
    int64_t element_bytes;
    const char *dtype;                /* bf16, fp16 or fp32; static                */
    int softcap, qk_norm;             /* norms of each query and key head          */
    char name[256];                   /* _name_or_path, "" if it is not there      */
};

/* Dense and mixture-of-experts decoders whose layers are alike.  Fields that change
 * nothing here are passed over; those of attention, experts or weights of another
 * kind are refused by name.
 *   -DT_EINPUT  "FILE: ...": no JSON, or a field is missing, of another type, out of
 *               range or not supported */
int dt_model_read (const char *file, const void *data, size_t n, struct dt_model *ret,
                   struct dt_err *reterr);

#endif
