/* selir/program_digest.c - what a program says, without how it is laid out. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "selir/check.h"
#include "selir/program.h"

static void add_number (struct dt_digest_state *s, uint64_t v)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    dt_digest_add (s, bytes, sizeof bytes);
}

static void add_text (struct dt_digest_state *s, const char *text, size_t n)
{
    add_number (s, n);
    dt_digest_add (s, text, n);
}

/* A letter for the kind and the text or the value: the numbers of enum dt_tok change
 * when the language gains a word, and the digest of an unchanged program must not. */
static void add_token (struct dt_digest_state *s, const struct dt_token *t)
{
    const char *word = dt_tok_name (t->kind);

    switch (t->kind) {
    case DT_TOK_END: dt_digest_add (s, "e", 1); return;
    case DT_TOK_NEWLINE: dt_digest_add (s, "l", 1); return;
    case DT_TOK_INDENT: dt_digest_add (s, ">", 1); return;
    case DT_TOK_DEDENT: dt_digest_add (s, "<", 1); return;
    case DT_TOK_NAME: dt_digest_add (s, "n", 1); break;
    case DT_TOK_STR: dt_digest_add (s, "s", 1); break;
    case DT_TOK_INT:
    case DT_TOK_FLOAT:
        dt_digest_add (s, t->kind == DT_TOK_INT ? "i" : "f", 1);
        add_number (s, (uint64_t)t->value);
        return;
    default: dt_digest_add (s, "w", 1); add_text (s, word, strlen (word)); return;
    }
    add_text (s, t->text, strlen (t->text));
}

/* table (NAME) where NAME is a fact, or is put together: any file may be meant. */
static int takes_any (const struct dt_token *t, size_t n)
{
    return n > 3 && t[0].kind == DT_TOK_NAME && strcmp (t[0].text, "table") == 0
           && t[1].kind == DT_TOK_LPAREN
           && (t[2].kind != DT_TOK_STR || t[3].kind != DT_TOK_RPAREN);
}

/* Data files come whole if a string of these tokens is their name, or if the name is
 * no string of the program's.  t: the token at hand and the n - 1 that follow. */
static void note_data (const struct dt_program *p, const struct dt_token *t, size_t n,
                       uint8_t *used)
{
    int any = takes_any (t, n);

    for (uint32_t i = 0; i < p->n_data; i++)
        if (any || (t->kind == DT_TOK_STR && strcmp (p->data[i].name, t->text) == 0))
            used[i] = 1;
}

static int add_module (struct dt_digest_state *s, const struct dt_program *p,
                       const struct dt_module *m, uint8_t *used, struct dt_err *reterr)
{
    struct dt_arena arena = { 0 };
    struct dt_token *token;
    size_t n;
    int r;

    if ((r = dt_lex (&m->source, m->file, &arena, &token, &n, reterr)) == 0) {
        add_text (s, m->name, strlen (m->name));
        for (size_t i = 0; i < n; i++) {
            add_token (s, &token[i]);
            note_data (p, &token[i], n - i, used);
        }
    }
    dt_arena_done (&arena);
    return r;
}

static int by_name (const void *a, const void *b)
{
    const struct dt_module *const *x = a, *const *y = b;

    return strcmp ((*x)->name, (*y)->name);
}

static void add_data (struct dt_digest_state *s, const struct dt_program *p, const uint8_t *used)
{
    const struct dt_source *next, *last = NULL;

    for (;; last = next) { /* ascending by name */
        next = NULL;
        for (uint32_t i = 0; i < p->n_data; i++)
            if (used[i] && (!last || strcmp (p->data[i].name, last->name) > 0)
                && (!next || strcmp (p->data[i].name, next->name) < 0))
                next = &p->data[i];
        if (!next)
            return;
        add_text (s, next->name, strlen (next->name));
        add_text (s, next->text, next->len);
    }
}

int dt_program_digest (const struct dt_program *p, struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_module *module[DT_SOURCE_MAX_FILES];
    uint8_t used[DT_SOURCE_MAX_FILES] = { 0 };
    struct dt_digest_state s;
    int r;

    memcpy (module, p->file, p->n_files * sizeof (struct dt_module *)); /* the main one first */
    qsort (module + 1, p->n_files - 1, sizeof (struct dt_module *), by_name);
    dt_digest_begin (&s, "program");
    for (uint32_t i = 0; i < p->n_files; i++)
        if ((r = add_module (&s, p, module[i], used, reterr)) < 0)
            return r;
    add_data (&s, p, used);
    *ret = dt_digest_end (&s);
    return 0;
}
