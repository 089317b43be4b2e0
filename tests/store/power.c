/* A disk that forgets: what a program has not synced is not in the shadow folder. `POWER_SHADOW` names it; what lies
   beside it and is synced is copied there, whole, and one byte is appended to the file `syncs` in it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void keep(int fd) {
    const char *shadow = getenv("POWER_SHADOW");
    char link[64], path[4096], half[4200], kept[4200], data[65536];
    struct stat about;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1), had;
    if (!shadow || length < 0 || fstat(fd, &about) || !S_ISREG(about.st_mode)) return;
    path[length] = 0;
    pthread_mutex_lock(&one_at_a_time);
    snprintf(kept, sizeof kept, "%s/%s", shadow, strrchr(path, '/') + 1);
    snprintf(half, sizeof half, "%s/half", shadow);
    int from = open(path, O_RDONLY), to = open(half, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while ((had = read(from, data, sizeof data)) > 0)
        if (write(to, data, had) != had) abort();
    close(from);
    close(to);
    rename(half, kept);
    snprintf(kept, sizeof kept, "%s/syncs", shadow);
    int syncs = open(kept, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(syncs, "s", 1) != 1) abort();
    close(syncs);
    pthread_mutex_unlock(&one_at_a_time);
}

int fsync(int fd) {
    int done = ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
    keep(fd);
    return done;
}

int fdatasync(int fd) {
    int done = ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
    keep(fd);
    return done;
}
