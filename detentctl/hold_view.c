/* detentctl/hold_view.c - devices that are held, for people and as JSON. */
#include "detentctl/hold_view.h"

#include <string.h>

#include "base/time.h"
#include "detentctl/print.h"

void dt_holds_print (Detent__Hold *const *hold, size_t n, const char *what)
{
    char time[DT_TIME_TEXT];

    for (size_t i = 0; i < n; i++) {
        dt_print (stdout, "%-13s %s since %s: %s", what, hold[i]->device,
                  dt_time_text (hold[i]->since_ns, time), hold[i]->why);
        if (hold[i]->tried && strcmp (hold[i]->tried, hold[i]->why) != 0)
            dt_print (stdout, "; its last trial: %s", hold[i]->tried);
        putchar ('\n');
    }
}

json_t *dt_holds_json (Detent__Hold *const *hold, size_t n)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < n; i++) {
        json_t *o = dt_json_object ();

        dt_json_set (o, "device", dt_json_text (hold[i]->device));
        dt_json_set (o, "next_s", hold[i]->has_next_s ? dt_json_real (hold[i]->next_s)
                                                      : json_null ());
        dt_json_set (o, "tried", hold[i]->tried ? dt_json_text (hold[i]->tried) : json_null ());
        dt_json_set (o, "since", dt_json_time (hold[i]->since_ns));
        dt_json_set (o, "why", dt_json_text (hold[i]->why));
        dt_json_append (a, o);
    }
    return a;
}
