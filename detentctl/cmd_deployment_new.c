/* detentctl/cmd_deployment_new.c - a deployment from a model's config.json.
 *
 * What an engine calls, with which facts, is a template beside its programs
 * (PROGRAMS/ENGINE/deployment.in); here the model and the GPU become its values. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "detentctl/collect.h"
#include "detentctl/commands.h"
#include "detentctl/gpu.h"
#include "detentctl/model.h"
#include "detentctl/template.h"

#define MAX_VALUES 64
#define CONFIG_MAX_BYTES (1u << 20)
#define VOCAB_STEP 64 /* engines pad the vocabulary to whole steps before cutting it */

static const struct dt_ctl_option options[] = {
    { "engine", 0, "ENGINE", "sglang or vllm" },
    { "model-config", 0, "FILE", "the model's config.json" },
    { "tp", 0, "N", "ranks that share each layer" },
    { "gpu", 0, "NAME", "one of gpus.yaml, H100-SXM say" },
    { "model", 0, "TEXT", "what to call the model (default: _name_or_path)" },
    { "name", 0, "NAME", "the deployment's name (default: of model, ranks, GPU and engine)" },
    { "output", 'o', "FILE", "write it there (default: standard output)" },
    { "programs", 0, "FOLDER", "where programs and templates are" },
    { 0 },
};

/* Which batch sizes an engine captures graphs for: steps, each from a size on. */
struct steps {
    int64_t from, step;
};
#define MAX_STEPS 6
struct engine {
    const char *name;
    struct steps steps[MAX_STEPS]; /* ascending; {0}: the end */
    int64_t (*most) (int64_t tp);
};

/* SGLang 2026: 256, and 512 where four ranks or more share a layer; vLLM 2026: twice its
 * 256 sequences, and at most 512. */
static int64_t sglang_most (int64_t tp)
{
    return tp >= 4 ? 512 : 256;
}

static int64_t vllm_most (int64_t tp)
{
    (void)tp;
    return 512;
}

static const struct engine engines[] = {
    { "sglang", { { 1, 1 }, { 2, 2 }, { 4, 4 }, { 16, 8 }, { 256, 16 }, { 512, 32 } }, sglang_most },
    { "vllm", { { 1, 1 }, { 2, 2 }, { 4, 4 }, { 8, 8 }, { 256, 16 } }, vllm_most },
};

struct making {
    const struct dt_ctl *c;
    const struct engine *engine;
    const char *folder; /* of programs */
    uint64_t tp;
    struct dt_model model;
    struct dt_gpu gpu;
    struct dt_arena arena;
    struct dt_template_value value[MAX_VALUES];
    size_t n_values;
    struct dt_err *err;
};

/* --- values ----------------------------------------------------------------------- */

static void put_text (struct making *m, const char *name, const char *text)
{
    if (m->n_values < MAX_VALUES)
        m->value[m->n_values++] = (struct dt_template_value){ name, text };
}

static void put_int (struct making *m, const char *name, int64_t v)
{
    put_text (m, name, dt_arena_strf (&m->arena, "%" PRId64, v));
}

static void put_bool (struct making *m, const char *name, int v)
{
    put_text (m, name, v ? "true" : "false");
}

/* --- graph buckets ------------------------------------------------------------------ */

/* "1, 2, 4, ..." up to `most`, lines broken as the templates are. */
static int put_buckets (struct making *m, int64_t most)
{
    const struct steps *s = m->engine->steps;
    struct dt_buf b = { 0 };
    size_t column = 16; /* after "graph_buckets: [" */
    char word[24];
    int n;

    for (int64_t v = 1; v <= most; v += s->step) {
        while (s + 1 < m->engine->steps + MAX_STEPS && s[1].from && s[1].from <= v)
            s++;
        n = snprintf (word, sizeof word, "%s%" PRId64, v == 1 ? "" : ", ", v);
        if (column + (size_t)n > 92) {
            dt_buf_printf (&b, ",\n  %s", word + 2);
            column = (size_t)n;
        } else {
            dt_buf_printf (&b, "%s", word);
            column += (size_t)n;
        }
    }
    dt_buf_u8 (&b, 0);
    put_text (m, "graph_buckets", b.failed ? NULL : dt_arena_strf (&m->arena, "%s", (char *)b.data));
    dt_buf_done (&b);
    put_int (m, "graph_most", most);
    return 0;
}

/* --- one rank's share ------------------------------------------------------------------ */

static int share (struct making *m, const char *what, int64_t v, int64_t *ret)
{
    if (v % (int64_t)m->tp != 0)
        return dt_err_set (m->err, -DT_EINPUT, "--tp %" PRIu64 " does not divide %s, %" PRId64,
                           m->tp, what, v);
    *ret = v / (int64_t)m->tp;
    return 0;
}

static int put_attention (struct making *m)
{
    const struct dt_model *d = &m->model;
    int64_t q = 0, kv = 1; /* one: ranks share a head, each with a copy */
    int r;

    if ((r = share (m, "num_attention_heads", d->q_heads, &q)) < 0)
        return r;
    if ((int64_t)m->tp <= d->kv_heads || (int64_t)m->tp % d->kv_heads != 0)
        if ((r = share (m, "num_key_value_heads", d->kv_heads, &kv)) < 0)
            return r;
    put_int (m, "q_heads", q);
    put_int (m, "kv_heads", kv);
    put_int (m, "head_dim", d->head_dim);
    put_int (m, "window", d->window);
    put_bool (m, "softcap", d->softcap);
    put_bool (m, "qk_norm", d->qk_norm);
    put_int (m, "qkv_n", (q + 2 * kv) * d->head_dim);
    put_int (m, "o_k", q * d->head_dim);
    return 0;
}

/* The engine's tuned table for these experts on this GPU, or none. */
static const char *tuned_table (struct making *m, int64_t n)
{
    const char *name = dt_arena_strf (&m->arena, "E=%" PRId64 ",N=%" PRId64 ",device_name=%s.json",
                                      m->model.experts, n, m->gpu.device_name);
    const char *path = name ? dt_arena_strf (&m->arena, "%s/%s/%s", m->folder, m->engine->name,
                                             name)
                            : NULL;

    if (!path)
        return NULL;
    return access (path, R_OK) == 0 && m->model.element_bytes == 2 ? name : "none";
}

static int put_layers (struct making *m)
{
    const struct dt_model *d = &m->model;
    int64_t n = 0, dense = 0;
    int r;

    if (d->experts
        && (r = share (m, "the experts' intermediate size", d->expert_intermediate, &n)) < 0)
        return r;
    if (!d->experts && (r = share (m, "intermediate_size", d->intermediate, &dense)) < 0)
        return r;
    put_bool (m, "moe", d->experts > 0);
    put_bool (m, "dense", d->experts == 0);
    put_int (m, "experts", d->experts);
    put_int (m, "top_k", d->top_k);
    put_int (m, "expert_n", n);
    put_text (m, "tuned_table", d->experts ? tuned_table (m, n) : "none");
    put_int (m, "gate_up_n", 2 * dense);
    put_int (m, "down_k", dense);
    put_int (m, "layers", d->layers);
    put_int (m, "layers_2", 2 * d->layers);
    put_int (m, "layers_2_1", 2 * d->layers + 1);
    return 0;
}

static int put_rest (struct making *m)
{
    const struct dt_model *d = &m->model;
    int64_t vocab = 0;
    int r;

    if ((r = share (m, "vocab_size in steps of 64", (d->vocab + VOCAB_STEP - 1) / VOCAB_STEP * VOCAB_STEP,
                    &vocab)) < 0)
        return r;
    put_int (m, "lm_head_n", vocab);
    put_int (m, "hidden", d->hidden);
    put_int (m, "row_bytes", d->hidden * d->element_bytes);
    put_int (m, "element_bytes", d->element_bytes);
    put_text (m, "dtype", d->dtype);
    put_bool (m, "bf16", strcmp (d->dtype, "bf16") == 0);
    put_int (m, "max_context", d->context);
    put_int (m, "tp", (int64_t)m->tp);
    put_text (m, "gpu", m->gpu.name);
    put_int (m, "arch", m->gpu.arch);
    put_int (m, "sms", m->gpu.sms);
    put_int (m, "shared_bytes", m->gpu.shared_bytes);
    put_bool (m, "multicast", (int)m->gpu.multicast);
    return 0;
}

/* "org/Llama-3.1-70B" on H100-SXM -> "llama-3.1-70b-tp4-h100-sxm-vllm". */
static int put_names (struct making *m)
{
    const char *model = dt_ctl_value (m->c, "model"), *name, *slash;
    char *made;
    int r;

    if (!model && !*(model = m->model.name))
        return dt_err_set (m->err, -DT_EUSAGE,
                           "--model TEXT is missing: the config.json has no _name_or_path");
    for (const char *p = model; *p; p++)
        if ((unsigned char)*p < 0x20 || strchr ("\"\\", *p))
            return dt_err_set (m->err, -DT_EINPUT, "the model's name has a character of no name");
    if ((r = dt_ctl_name (m->c, "name", &name, m->err)) < 0)
        return r;
    if (!name) {
        slash = strrchr (model, '/');
        made = dt_arena_strf (&m->arena, "%s-tp%" PRIu64 "-%s-%s", slash ? slash + 1 : model, m->tp,
                              m->gpu.name, m->engine->name);
        for (char *p = made; p && *p; p++)
            *p = isalnum ((unsigned char)*p) || strchr ("._-", *p) ? (char)tolower ((unsigned char)*p) : '-';
        name = made;
        if (name && !dt_wire_name_ok (name))
            return dt_err_set (m->err, -DT_EUSAGE, "--name NAME is missing: '%s' is no name", name);
    }
    put_text (m, "model", model);
    put_text (m, "name", name);
    return 0;
}

static int put_all (struct making *m)
{
    int r;

    if ((r = put_names (m)) < 0 || (r = put_attention (m)) < 0 || (r = put_layers (m)) < 0
        || (r = put_rest (m)) < 0 || (r = put_buckets (m, m->engine->most ((int64_t)m->tp))) < 0)
        return r;
    for (size_t i = 0; i < m->n_values; i++)
        if (!m->value[i].text)
            return dt_err_nomem (m->err);
    return 0;
}

/* --- reading and writing ------------------------------------------------------------- */

static int find_engine (const char *name, const struct engine **ret, struct dt_err *reterr)
{
    const char *names[DT_ARRAY_SIZE (engines)], *near;

    for (size_t i = 0; i < DT_ARRAY_SIZE (engines); i++) {
        names[i] = engines[i].name;
        if (strcmp (name, names[i]) == 0) {
            *ret = &engines[i];
            return 0;
        }
    }
    near = dt_suggest (name, names, DT_ARRAY_SIZE (engines));
    return dt_err_set (reterr, -DT_EUSAGE, "--engine '%s' is not sglang or vllm%s%s%s", name,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int read_model (struct making *m)
{
    const char *path = dt_ctl_value (m->c, "model-config");
    struct dt_buf b = { 0 };
    int r = dt_file_read (path, CONFIG_MAX_BYTES, &b, m->err);

    if (r == 0)
        r = dt_model_read (path, b.data, b.len, &m->model, m->err);
    dt_buf_done (&b);
    return r;
}

static int read_gpu (struct making *m)
{
    const char *path = dt_arena_strf (&m->arena, "%s/../deployments/gpus.yaml", m->folder);

    return path ? dt_gpu_find (path, dt_ctl_value (m->c, "gpu"), &m->arena, &m->gpu, m->err)
                : dt_err_nomem (m->err);
}

static int fill (struct making *m, struct dt_buf *ret)
{
    const char *path = dt_arena_strf (&m->arena, "%s/%s/deployment.in", m->folder, m->engine->name);
    struct dt_buf b = { 0 };
    int r;

    if (!path)
        return dt_err_nomem (m->err);
    if ((r = dt_file_read (path, CONFIG_MAX_BYTES, &b, m->err)) == 0)
        r = dt_template_fill (path, b.data, b.len, m->value, m->n_values, ret, m->err);
    dt_buf_done (&b);
    return r == 0 && ret->failed ? dt_err_nomem (m->err) : r;
}

static int write_out (const struct dt_ctl *c, const struct dt_buf *b, struct dt_err *reterr)
{
    const char *path = dt_ctl_value (c, "output");

    if (path)
        return dt_file_replace (path, b->data, b->len, 0644, reterr);
    fwrite (b->data, 1, b->len, stdout); /* main looks at stdout's state */
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "engine", "model-config", "tp", "gpu", NULL };
    struct making m = { .c = c, .folder = dt_collect_programs (c), .err = reterr };
    struct dt_buf out = { 0 };
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0
        || (r = find_engine (dt_ctl_value (c, "engine"), &m.engine, reterr)) < 0
        || (r = dt_ctl_u64 (c, "tp", 1024, &m.tp, reterr)) < 0)
        return r;
    if (m.tp == 0)
        return dt_err_set (reterr, -DT_EUSAGE, "--tp is at least 1");
    if ((r = read_gpu (&m)) == 0 && (r = read_model (&m)) == 0 && (r = put_all (&m)) == 0
        && (r = fill (&m, &out)) == 0)
        r = write_out (c, &out, reterr);
    dt_buf_done (&out);
    dt_arena_done (&m.arena);
    return r;
}

const struct dt_ctl_command dt_cmd_deployment_new = {
    "deployment new", "", 0, 0,
    "Write a deployment of an engine from a model's config.json.", options, run,
};
