/* detentctl/sheet.c - tables by libsmartcols, which fits them to the terminal. */
#include "detentctl/sheet.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "detentctl/print.h"

struct dt_sheet {
    struct libscols_table *table;
    struct libscols_line *line;
    size_t cell, rows;
};

static int colours;

void dt_sheet_init (void)
{
    const char *no = getenv ("NO_COLOR");

    colours = isatty (STDOUT_FILENO) && !(no && *no);
}

static void need (int ok)
{
    if (!ok)
        dt_print_nomem ();
}

struct dt_sheet *dt_sheet_new (const struct dt_column *columns)
{
    static const int flags[] = { [DT_LEFT] = 0, [DT_RIGHT] = SCOLS_FL_RIGHT,
                                 [DT_WRAP] = SCOLS_FL_WRAP, [DT_CUT] = SCOLS_FL_TRUNC };
    struct dt_sheet *s = dt_calloc (1, sizeof *s);

    need (s && (s->table = scols_new_table ()) != NULL);
    scols_table_enable_colors (s->table, colours);
    for (; columns->name; columns++) {
        struct libscols_column *c
            = scols_table_new_column (s->table, columns->name, 0, flags[columns->how]);

        need (c != NULL);
        if (colours)
            scols_cell_set_color (scols_column_get_header (c), "bold");
    }
    return s;
}

void dt_sheet_row (struct dt_sheet *s)
{
    need ((s->line = scols_table_new_line (s->table, NULL)) != NULL);
    s->cell = 0;
    s->rows++;
}

/* libsmartcols escapes what the locale cannot print; broken UTF-8 and the rest
 * is escaped before. */
static void add (struct dt_sheet *s, const char *text, const char *colour)
{
    char *escaped = dt_print_escape (text, 0);

    need (scols_line_set_data (s->line, s->cell, *escaped ? escaped : "-") == 0);
    if (colour && colours)
        scols_cell_set_color (scols_line_get_cell (s->line, s->cell), colour);
    s->cell++;
    dt_free (escaped);
}

void dt_sheet_cell (struct dt_sheet *s, const char *format, ...)
{
    va_list ap;
    char *text;

    va_start (ap, format);
    text = dt_print_format (format, ap);
    va_end (ap);
    add (s, text, NULL);
    dt_free (text);
}

void dt_sheet_good (struct dt_sheet *s, const char *text)
{
    add (s, text, "green");
}

void dt_sheet_bad (struct dt_sheet *s, const char *text)
{
    add (s, text, "red");
}

void dt_sheet_print (struct dt_sheet *s, const char *title)
{
    if (s->rows) {
        if (title)
            printf ("\n%s\n", title);
        fflush (stdout);
        scols_print_table (s->table);
    }
    scols_unref_table (s->table);
    dt_free (s);
}
