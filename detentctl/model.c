/* detentctl/model.c - a decoder's shape, from a Hugging Face config.json. */
#include "detentctl/model.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_COUNT (INT64_C (1) << 31) /* of any count: products stay in 64 bits */

struct reading {
    const char *file;
    const json_t *root;
    struct dt_err *err;
};

/* Fields that say that layers are of another kind than is known here. */
static const struct {
    const char *field, *what;
} unsupported[] = {
    { "kv_lora_rank", "latent attention" },
    { "q_lora_rank", "latent attention" },
    { "quantization_config", "quantised weights" },
    { "attention_chunk_size", "chunked attention" },
    { "linear_num_key_heads", "linear attention" },
    { "mamba_d_state", "state-space layers" },
    { "ssm_state_size", "state-space layers" },
    { "first_k_dense_replace", "dense layers before those with experts" },
    { "n_shared_experts", "shared experts" },
    { "shared_expert_intermediate_size", "shared experts" },
    { "mlp_only_layers", "dense layers among those with experts" },
    { "is_encoder_decoder", "an encoder" },
    { "text_config", "several models in one: give the text model's config.json" },
};

/* Decoders whose layers are those of the deployments that are written: norm, attention,
 * norm, then a gated product or experts. */
static const char *const known_type[]
    = { "llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe" };

/* Fields that are read here, or that change no layer's structure. */
static const char *const known_field[] = {
    "_name_or_path", "architectures", "attention_bias", "attention_dropout",
    "attn_logit_softcapping", "bos_token_id", "decoder_sparse_step", "dtype", "eos_token_id",
    "head_dim", "hidden_act", "hidden_size", "initializer_range", "intermediate_size",
    "layer_types", "max_position_embeddings", "max_window_layers", "mlp_bias", "model_type",
    "moe_intermediate_size", "norm_topk_prob", "num_attention_heads", "num_experts",
    "num_experts_per_tok", "num_hidden_layers", "num_key_value_heads", "num_local_experts",
    "output_router_logits", "pad_token_id", "pretraining_tp", "rms_norm_eps", "rope_parameters",
    "rope_scaling", "rope_theta", "router_aux_loss_coef", "router_jitter_noise",
    "sliding_window", "tie_word_embeddings", "torch_dtype", "transformers_version", "use_cache",
    "use_sliding_window", "vocab_size",
};

static int is_one_of (const char *s, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp (s, all[i]) == 0)
            return 1;
    return 0;
}

static int refuse (const struct reading *d, const char *field, const char *what)
{
    return dt_err_set (d->err, -DT_EINPUT, "%s: \"%s\": %s", d->file, field, what);
}

/* A field that is there and neither null, false, 0 nor empty. */
static const json_t *given (const struct reading *d, const char *field)
{
    const json_t *v = json_object_get (d->root, field);

    if (!v || json_is_null (v) || json_is_false (v)
        || (json_is_integer (v) && json_integer_value (v) == 0)
        || (json_is_array (v) && json_array_size (v) == 0)
        || (json_is_object (v) && json_object_size (v) == 0))
        return NULL;
    return v;
}

static int check_supported (const struct reading *d)
{
    char what[96];

    for (size_t i = 0; i < DT_ARRAY_SIZE (unsupported); i++)
        if (given (d, unsupported[i].field)) {
            snprintf (what, sizeof what, "%s is not supported", unsupported[i].what);
            return refuse (d, unsupported[i].field, what);
        }
    return 0;
}

/* A field that nobody here knows may say that layers are others than would be written. */
static int check_known (const struct reading *d)
{
    const char *type = json_string_value (json_object_get (d->root, "model_type")), *field;
    const json_t *v;

    if (!type)
        return refuse (d, "model_type", "missing");
    if (!is_one_of (type, known_type, DT_ARRAY_SIZE (known_type)))
        return refuse (d, "model_type", "its layers are not known: llama, mistral, mixtral, "
                                        "qwen2, qwen3 and qwen3_moe are");
    json_object_foreach ((json_t *)(uintptr_t)d->root, field, v)
        if (given (d, field) && !is_one_of (field, known_field, DT_ARRAY_SIZE (known_field)))
            return refuse (d, field, "not known, and may change the layers; take it out if it "
                                     "does not");
    return 0;
}

/* A count under one of its names; *ret stays where `optional` and none is there. */
static int count (const struct reading *d, const char *const *names, int optional, int64_t *ret)
{
    const json_t *v;

    for (size_t i = 0; names[i]; i++) {
        v = json_object_get (d->root, names[i]);
        if (!v || json_is_null (v))
            continue;
        if (!json_is_integer (v) || json_integer_value (v) < 1
            || json_integer_value (v) > MAX_COUNT)
            return refuse (d, names[i], "must be an integer from 1 to 2^31");
        *ret = json_integer_value (v);
        return 0;
    }
    return optional ? 0 : refuse (d, names[0], "missing");
}
#define COUNT(d, optional, ret, ...) \
    count (d, (const char *const[]){ __VA_ARGS__, NULL }, optional, ret)

static int read_dtype (const struct reading *d, struct dt_model *m)
{
    static const struct {
        const char *torch, *name;
        int bytes;
    } types[] = { { "bfloat16", "bf16", 2 }, { "float16", "fp16", 2 }, { "float32", "fp32", 4 } };
    const char *field = json_object_get (d->root, "torch_dtype") ? "torch_dtype" : "dtype";
    const char *s = json_string_value (json_object_get (d->root, field));

    if (!s)
        return refuse (d, "torch_dtype", "missing");
    for (size_t i = 0; i < DT_ARRAY_SIZE (types); i++)
        if (strcmp (types[i].torch, s) == 0) {
            m->dtype = types[i].name;
            m->element_bytes = types[i].bytes;
            return 0;
        }
    return refuse (d, field, "must be bfloat16, float16 or float32");
}

static int read_attention (const struct reading *d, struct dt_model *m)
{
    int r;

    if ((r = COUNT (d, 0, &m->q_heads, "num_attention_heads")) < 0)
        return r;
    m->kv_heads = m->q_heads;
    if ((r = COUNT (d, 1, &m->kv_heads, "num_key_value_heads")) < 0
        || (r = COUNT (d, 1, &m->head_dim, "head_dim")) < 0)
        return r;
    if (m->q_heads % m->kv_heads != 0)
        return refuse (d, "num_key_value_heads", "does not divide num_attention_heads");
    if (!m->head_dim && m->hidden % m->q_heads != 0)
        return refuse (d, "head_dim", "missing, and num_attention_heads does not divide hidden_size");
    if (!m->head_dim)
        m->head_dim = m->hidden / m->q_heads;
    m->softcap = given (d, "attn_logit_softcapping") != NULL;
    return 0;
}

/* A window counts the token itself. */
static int read_window (const struct reading *d, struct dt_model *m)
{
    const json_t *types = json_object_get (d->root, "layer_types");
    const char *first = json_string_value (json_array_get (types, 0)), *type;
    int64_t window = 0;
    int r;

    for (size_t i = 0; i < json_array_size (types); i++) {
        type = json_string_value (json_array_get (types, i));
        if (!type || !first || strcmp (type, first) != 0)
            return refuse (d, "layer_types", "layers of several kinds are not supported");
    }
    if (!first && json_is_true (json_object_get (d->root, "use_sliding_window"))
        && given (d, "max_window_layers"))
        return refuse (d, "max_window_layers", "layers of several kinds are not supported");
    if (first && strcmp (first, "full_attention") != 0 && strcmp (first, "sliding_attention") != 0)
        return refuse (d, "layer_types", "must be full_attention or sliding_attention");
    if ((r = COUNT (d, 1, &window, "sliding_window")) < 0)
        return r;
    if (json_is_false (json_object_get (d->root, "use_sliding_window"))
        || (first && strcmp (first, "full_attention") == 0))
        window = 0;
    m->window = window > 0 ? window - 1 : -1;
    return 0;
}

static int read_layers (const struct reading *d, struct dt_model *m)
{
    int64_t step = 1;
    int r;

    if ((r = COUNT (d, 1, &m->experts, "num_experts", "num_local_experts")) < 0)
        return r;
    if (!m->experts)
        return COUNT (d, 0, &m->intermediate, "intermediate_size");
    if ((r = COUNT (d, 0, &m->top_k, "num_experts_per_tok")) < 0
        || (r = COUNT (d, 0, &m->expert_intermediate, "moe_intermediate_size",
                       "intermediate_size")) < 0
        || (r = COUNT (d, 1, &step, "decoder_sparse_step")) < 0)
        return r;
    if (step != 1)
        return refuse (d, "decoder_sparse_step", "dense layers among those with experts are not "
                                                 "supported");
    if (m->top_k > m->experts)
        return refuse (d, "num_experts_per_tok", "more than there are experts");
    return 0;
}

static int read_rest (const struct reading *d, struct dt_model *m)
{
    const char *type = json_string_value (json_object_get (d->root, "model_type"));
    const char *name = json_string_value (json_object_get (d->root, "_name_or_path"));
    int r;

    m->qk_norm = strncmp (type, "qwen3", 5) == 0;
    if (name && strlen (name) < sizeof m->name)
        strcpy (m->name, name);
    if ((r = COUNT (d, 0, &m->layers, "num_hidden_layers")) < 0
        || (r = COUNT (d, 0, &m->vocab, "vocab_size")) < 0)
        return r;
    return COUNT (d, 0, &m->context, "max_position_embeddings");
}

int dt_model_read (const char *file, const void *data, size_t n, struct dt_model *ret,
                   struct dt_err *reterr)
{
    struct reading d = { .file = file, .err = reterr };
    struct dt_model m = { 0 };
    json_error_t error;
    json_t *root = json_loadb (data, n, JSON_REJECT_DUPLICATES, &error);
    int r;

    if (!root)
        return dt_err_set (reterr, -DT_EINPUT, "%s:%d:%d: %s", file, error.line, error.column,
                           error.text);
    d.root = root;
    if (!json_is_object (root))
        r = dt_err_set (reterr, -DT_EINPUT, "%s: no object", file);
    else if ((r = check_supported (&d)) == 0 && (r = check_known (&d)) == 0
             && (r = COUNT (&d, 0, &m.hidden, "hidden_size")) == 0
             && (r = read_attention (&d, &m)) == 0 && (r = read_window (&d, &m)) == 0
             && (r = read_layers (&d, &m)) == 0 && (r = read_dtype (&d, &m)) == 0
             && (r = read_rest (&d, &m)) == 0)
        *ret = m;
    json_decref (root);
    return r;
}
