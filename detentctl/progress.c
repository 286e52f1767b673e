/* detentctl/progress.c - one line of progress. */
#include "detentctl/progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"

#define BAR 20

static int shown;

static int terminal_width (void)
{
    struct winsize w;

    if (ioctl (STDERR_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col < 40)
        return 80;
    return w.ws_col;
}

static void time_left (double left_s, char text[32])
{
    if (!(left_s >= 0) || left_s > 360000)
        text[0] = '\0';
    else if (left_s < 100)
        snprintf (text, 32, ", %.0f s left", left_s);
    else
        snprintf (text, 32, ", %.0f min left", left_s / 60);
}

void dt_progress (double fraction, double left_s, const char *what)
{
    char bar[BAR + 1], left[32], head[80];
    char *text;
    int n, room;

    if (!isatty (STDERR_FILENO))
        return;
    fraction = fraction >= 0 && fraction <= 1 ? fraction : 0;
    memset (bar, '.', BAR);
    memset (bar, '#', (size_t)(fraction * BAR));
    bar[BAR] = '\0';
    time_left (left_s, left);
    n = snprintf (head, sizeof head, "[%s] %3.0f%%%s  ", bar, fraction * 100, left);
    room = terminal_width () - 1 - n;
    text = dt_print_escape (what, 0);
    fprintf (stderr, "\r\033[K%s%.*s", head, room > 0 ? room : 0, text);
    fflush (stderr);
    dt_free (text);
    shown = 1;
}

void dt_progress_done (void)
{
    if (shown)
        fputs ("\r\033[K", stderr);
    shown = 0;
}
