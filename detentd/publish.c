/* detentd/publish.c - events for whoever subscribes. */
#include "detentd/publish.h"

#include <string.h>
#include <zmq.h>

void dt_publish (struct dt_daemon *d, const char *topic, const Detent__Reply *reply)
{
    Detent__Reply r = *reply;
    zmq_msg_t body;

    r.id = 0;
    if (zmq_msg_init_size (&body, detent__reply__get_packed_size (&r)) < 0)
        return; /* an event is lost; what it tells is in the store */
    detent__reply__pack (&r, zmq_msg_data (&body));
    if (zmq_send (d->events, topic, strlen (topic), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0
        || zmq_msg_send (&body, d->events, ZMQ_DONTWAIT) < 0)
        zmq_msg_close (&body);
}
