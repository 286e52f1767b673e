/* solver/key.c - what a solve is stored under: its question, and the JIT cache's key. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/mem.h"
#include "solver/solve.h"

static int by_fact (const void *a, const void *b)
{
    return strcmp ((*(const struct dt_fact *const *)a)->name,
                   (*(const struct dt_fact *const *)b)->name);
}

struct named_text {
    const char *name;
    struct dt_digest text;
};

static int by_name (const void *a, const void *b)
{
    return strcmp (((const struct named_text *)a)->name, ((const struct named_text *)b)->name);
}

static int by_text (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Pointers to n items of `size` bytes, in order; NULL out of memory. */
static void *sorted (const void *item, size_t n, size_t size,
                     int (*compare) (const void *, const void *))
{
    const char **p = dt_calloc (n, sizeof *p);
    size_t i;

    if (!p)
        return NULL;
    for (i = 0; i < n; i++)
        p[i] = (const char *)item + i * size;
    qsort (p, n, sizeof *p, compare);
    return p;
}

static int put_claims (const struct dt_solve_options *o, struct dt_canon *c)
{
    const char **claim = dt_memdup (o->claim, o->n_claims * sizeof *claim);
    size_t i;

    if (o->n_claims && !claim)
        return -ENOMEM;
    if (o->n_claims)
        qsort (claim, o->n_claims, sizeof *claim, by_text);
    dt_canon_key (c, "claims");
    dt_canon_list (c);
    for (i = 0; i < o->n_claims; i++)
        dt_canon_str (c, claim[i]);
    dt_canon_end (c);
    dt_free (claim);
    return 0;
}

static int put_facts (const struct dt_solve_key *k, struct dt_canon *c)
{
    const struct dt_fact **fact = sorted (k->fact, k->n_facts, sizeof *k->fact, by_fact);
    size_t i;

    if (!fact)
        return -ENOMEM;
    dt_canon_key (c, "facts");
    dt_canon_list (c);
    for (i = 0; i < k->n_facts; i++) {
        dt_canon_map (c);
        dt_canon_kint (c, "kind", fact[i]->kind);
        dt_canon_kstr (c, "name", fact[i]->name);
        if (fact[i]->kind == DT_FACT_STR)
            dt_canon_kstr (c, "value", fact[i]->s);
        else
            dt_canon_kint (c, "value", fact[i]->kind == DT_FACT_FLOAT ? dt_op_bits (fact[i]->d) : fact[i]->i);
        dt_canon_end (c);
    }
    dt_canon_end (c);
    dt_free (fact);
    return 0;
}

struct dt_digest dt_solve_text (const struct dt_source *source)
{
    return dt_digest_of ("source", source->text, source->len);
}

/* The program first, then the rest by name. */
static int put_sources (const struct dt_solve_key *k, struct dt_canon *c)
{
    struct named_text *list = dt_calloc (k->n_sources, sizeof *list);
    size_t i;

    if (!list)
        return -ENOMEM;
    for (i = 0; i < k->n_sources; i++)
        list[i] = (struct named_text){ k->source[i].name,
                                       k->text ? k->text[i] : dt_solve_text (&k->source[i]) };
    if (k->n_sources > 2)
        qsort (list + 1, k->n_sources - 1, sizeof *list, by_name);
    dt_canon_key (c, "sources");
    dt_canon_list (c);
    for (i = 0; i < k->n_sources; i++) {
        dt_canon_map (c);
        dt_canon_kstr (c, "name", list[i].name);
        dt_canon_kbytes (c, "text", list[i].text.bytes, sizeof list[i].text.bytes);
        dt_canon_end (c);
    }
    dt_canon_end (c);
    dt_free (list);
    return 0;
}

int dt_solve_digest (const struct dt_solve_key *key, struct dt_digest *ret,
                     struct dt_err *reterr)
{
    struct dt_canon c;
    int r = -ENOMEM;

    dt_canon_init (&c);
    dt_canon_map (&c);
    if (put_claims (&key->options, &c) < 0 || put_facts (key, &c) < 0)
        goto fail;
    dt_canon_kint (&c, "no_free", key->options.no_free != 0);
    dt_canon_kbytes (&c, "parameters", key->parameters.bytes, sizeof key->parameters.bytes);
    dt_canon_kstr (&c, "site", key->options.site ? key->options.site : "");
    dt_canon_kint (&c, "solver", key->version);
    if (put_sources (key, &c) < 0)
        goto fail;
    dt_canon_kint (&c, "strict", key->options.strict != 0);
    dt_canon_end (&c);
    if ((r = dt_canon_finish (&c)) == 0)
        *ret = dt_digest_of ("solve", c.buf.data, c.buf.len);
fail:
    dt_canon_done (&c);
    if (r == -DT_ELIMIT)
        return dt_err_set (reterr, r, "the sources are too large to be named");
    return r < 0 ? dt_err_nomem (reterr) : 0;
}

struct dt_digest dt_solve_cache_key (const struct dt_digest *question,
                                     const struct dt_digest *in_force)
{
    static const struct dt_digest none;
    struct dt_digest_state state;

    dt_digest_begin (&state, "cache");
    dt_digest_add (&state, question->bytes, sizeof question->bytes);
    dt_digest_add (&state, (in_force ? in_force : &none)->bytes, sizeof none.bytes);
    return dt_digest_end (&state);
}
