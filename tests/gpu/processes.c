#include "tests/gpu/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/verdict.h"

static int transfer (int fd, void *data, size_t n, int in)
{
    size_t done = 0;

    while (done < n) {
        ssize_t k = in ? read (fd, (char *)data + done, n - done)
                       : send (fd, (char *)data + done, n - done, MSG_NOSIGNAL);

        if (k <= 0)
            return k < 0 ? -errno : -EPIPE;
        done += (size_t)k;
    }
    return 0;
}

int gpu_gather (void *process, const void *mine, size_t bytes, void *all)
{
    struct gpu_process *p = process;
    size_t ranks = (size_t)p->ranks;
    char *at = all;
    int i, r;

    memcpy (at + (size_t)p->rank * bytes, mine, bytes);
    if (p->rank > 0) {
        if ((r = transfer (p->fd[0], at + (size_t)p->rank * bytes, bytes, 0)) < 0)
            return r;
        return transfer (p->fd[0], all, ranks * bytes, 1);
    }
    for (i = 1; i < p->ranks; i++)
        if ((r = transfer (p->fd[i], at + (size_t)i * bytes, bytes, 1)) < 0)
            return r;
    for (i = 1; i < p->ranks; i++)
        if ((r = transfer (p->fd[i], all, ranks * bytes, 0)) < 0)
            return r;
    return 0;
}

void gpu_wait_for_end (int fd)
{
    char byte;

    transfer (fd, &byte, 1, 1);
}

static int worst_of (const pid_t *pid, int ranks)
{
    int i, status, worst = 0;

    for (i = 0; i < ranks; i++) {
        if (waitpid (pid[i], &status, 0) < 0)
            gpu_die ("waitpid", strerror (errno));
        if (WIFSIGNALED (status)) {
            printf ("FAIL: rank %d: %s\n", i, strsignal (WTERMSIG (status)));
            status = 1 << 8;
        }
        worst = WEXITSTATUS (status) > worst ? WEXITSTATUS (status) : worst;
    }
    return worst;
}

/* An end that somebody else holds too never closes. */
static void keep_ends (struct gpu_process *p, int pair[][2])
{
    int i;

    for (i = 1; i < p->ranks; i++) {
        if (p->rank == 0)
            p->fd[i] = pair[i][0];
        else
            close (pair[i][0]);
        if (p->rank == i)
            p->fd[0] = pair[i][1];
        else
            close (pair[i][1]);
    }
}

int gpu_processes (int ranks, int (*main) (struct gpu_process *p, void *user), void *user)
{
    int pair[GPU_MAX_PROCESSES][2], i;
    pid_t pid[GPU_MAX_PROCESSES];

    for (i = 1; i < ranks; i++)
        if (socketpair (AF_UNIX, SOCK_STREAM, 0, pair[i]) < 0)
            gpu_die ("socketpair", strerror (errno));
    fflush (stdout);
    for (i = 0; i < ranks; i++) {
        struct gpu_process p = { .rank = i, .ranks = ranks };

        if ((pid[i] = fork ()) < 0)
            gpu_die ("fork", strerror (errno));
        if (pid[i] > 0)
            continue;
        keep_ends (&p, pair);
        exit (main (&p, user));
    }
    for (i = 1; i < ranks; i++) {
        close (pair[i][0]);
        close (pair[i][1]);
    }
    return worst_of (pid, ranks);
}
