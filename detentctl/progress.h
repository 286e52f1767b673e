/* detentctl/progress.h - one line of progress on stderr, if it is a terminal.
 * Uses: print.h.  Used by: connect.c, job.c. */
#ifndef DT_CTL_PROGRESS_H
#define DT_CTL_PROGRESS_H

/* Redraw: fraction in 0..1, seconds left or < 0 if unknown. */
void dt_progress (double fraction, double left_s, const char *what);
/* Clear the line. */
void dt_progress_done (void);

#endif
