/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/listener: a UNIX socket that clients find at a path */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listener.h"

typedef struct Place {
    char *folder, *path;
} Place;

static void set_up(Place *p, gconstpointer data)
{
    p->folder = g_dir_make_tmp("listener-XXXXXX", NULL);
    p->path = g_build_filename(p->folder, "s", NULL);
}

static void tear_down(Place *p, gconstpointer data)
{
    g_unlink(p->path);
    g_assert_cmpint(g_rmdir(p->folder), ==, 0);
    g_free(p->path);
    g_free(p->folder);
}

static mode_t mode_of(const char *path)
{
    struct stat there;

    g_assert_cmpint(lstat(path, &there), ==, 0);
    return there.st_mode & 07777;
}

/* A client that connects is the one that is accepted. */
static void assert_reached(const BaseListener *l)
{
    int client = base_listener_connect(l->path), peer = accept(l->fd, 0, 0);
    char octet = 0;

    g_assert_cmpint(client, >=, 0);
    g_assert_cmpint(peer, >=, 0);
    g_assert_cmpint(write(client, "x", 1), ==, 1);
    g_assert_cmpint(read(peer, &octet, 1), ==, 1);
    g_assert_cmpint(octet, ==, 'x');
    close(client);
    close(peer);
}

static void test_modes(Place *p, gconstpointer data)
{
    static const mode_t modes[] = { 0600, 0660, 0666 };
    mode_t mask = umask(0077);
    BaseListener l;

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_assert_cmpint(base_listener_open(&l, p->path, modes[i]), ==, 0);
        g_assert_cmpint(mode_of(p->path), ==, modes[i]);
        assert_reached(&l);
        base_listener_close(&l);
        g_assert_false(g_file_test(p->path, G_FILE_TEST_EXISTS));
    }
    umask(mask);
}

/* The one that lives keeps its clients, also if it does not accept them. */
static void test_in_use(Place *p, gconstpointer data)
{
    int client[256], full = 0;
    BaseListener l, other;

    g_assert_cmpint(base_listener_open(&l, p->path, 0600), ==, 0);
    g_assert_cmpint(base_listener_open(&other, p->path, 0600), ==, -EADDRINUSE);
    g_assert_cmpint(other.fd, ==, -1);
    /* With the look of the one before, these are all that have room. */
    while (full < 256) {
        client[full++] = base_listener_connect(p->path);
    }
    g_assert_cmpint(base_listener_open(&other, p->path, 0600), ==, -EADDRINUSE);
    while (full) {
        close(client[--full]);
    }
    base_listener_close(&l);
}

static void test_left_behind(Place *p, gconstpointer data)
{
    BaseListener killed, l;

    g_assert_cmpint(base_listener_open(&killed, p->path, 0600), ==, 0);
    close(killed.fd);
    free(killed.path);
    g_assert_cmpint(base_listener_connect(p->path), ==, -ECONNREFUSED);
    g_assert_cmpint(base_listener_open(&l, p->path, 0600), ==, 0);
    assert_reached(&l);
    base_listener_close(&l);
}

static void test_other_file(Place *p, gconstpointer data)
{
    BaseListener l;

    g_assert_true(g_file_set_contents(p->path, "mine", -1, NULL));
    g_assert_cmpint(base_listener_open(&l, p->path, 0600), ==, -EEXIST);
    g_assert_true(g_file_test(p->path, G_FILE_TEST_IS_REGULAR));
}

static void test_wrong_paths(Place *p, gconstpointer data)
{
    g_autofree char *far = g_strnfill(200, 'x');
    g_autofree char *none = g_build_filename(p->folder, "none", "s", NULL);
    BaseListener l;

    g_assert_cmpint(base_listener_open(&l, far, 0600), ==, -ENAMETOOLONG);
    g_assert_cmpint(base_listener_open(&l, none, 0600), ==, -ENOENT);
    g_assert_cmpint(base_listener_connect(far), ==, -ENAMETOOLONG);
    g_assert_cmpint(base_listener_connect(none), ==, -ENOENT);
    base_listener_close(&l);
}

static void test_removed(Place *p, gconstpointer data)
{
    int error = 0, fd;
    BaseListener l;

    g_assert_cmpint(base_listener_open(&l, p->path, 0660), ==, 0);
    fd = l.fd;
    g_assert_cmpint(base_listener_look(&l, &error), ==,
                    BASE_LISTENER_AS_BEFORE);
    g_unlink(p->path);
    g_assert_cmpint(base_listener_look(&l, &error), ==, BASE_LISTENER_AGAIN);
    g_assert_cmpint(l.fd, ==, fd);
    g_assert_cmpint(mode_of(p->path), ==, 0660);
    assert_reached(&l);
    g_assert_cmpint(base_listener_look(&l, &error), ==,
                    BASE_LISTENER_AS_BEFORE);
    base_listener_close(&l);
}

/* It is said once that it cannot be made; it is made when its folder is back. */
static void test_folder_removed(Place *p, gconstpointer data)
{
    BaseListener l;
    int error = 0;

    g_assert_cmpint(base_listener_open(&l, p->path, 0600), ==, 0);
    g_unlink(p->path);
    g_rmdir(p->folder);
    g_assert_cmpint(base_listener_look(&l, &error), ==, BASE_LISTENER_CHANGED);
    g_assert_cmpint(l.state, ==, BASE_LISTENER_GONE);
    g_assert_cmpint(error, ==, ENOENT);
    g_assert_cmpint(base_listener_look(&l, &error), ==,
                    BASE_LISTENER_AS_BEFORE);
    g_assert_cmpint(g_mkdir(p->folder, 0700), ==, 0);
    g_assert_cmpint(base_listener_look(&l, &error), ==, BASE_LISTENER_AGAIN);
    g_assert_cmpint(l.state, ==, BASE_LISTENER_OURS);
    assert_reached(&l);
    base_listener_close(&l);
}

/* Another server's socket is not ours to remove, neither now nor at the end. */
static void test_of_another(Place *p, gconstpointer data)
{
    BaseListener l, other;
    int error = 0;

    g_assert_cmpint(base_listener_open(&l, p->path, 0600), ==, 0);
    g_unlink(p->path);
    g_assert_cmpint(base_listener_open(&other, p->path, 0600), ==, 0);
    g_assert_cmpint(base_listener_look(&l, &error), ==, BASE_LISTENER_CHANGED);
    g_assert_cmpint(l.state, ==, BASE_LISTENER_OTHERS);
    base_listener_close(&l);
    assert_reached(&other);
    base_listener_close(&other);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(Place *p, gconstpointer data);
    } tests[] = {
        { "modes", test_modes },
        { "in-use", test_in_use },
        { "left-behind", test_left_behind },
        { "other-file", test_other_file },
        { "wrong-paths", test_wrong_paths },
        { "removed", test_removed },
        { "folder-removed", test_folder_removed },
        { "of-another", test_of_another },
    };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/base/listener/%s",
                                                tests[i].name);

        g_test_add(path, Place, NULL, set_up, tests[i].run, tear_down);
    }
    return g_test_run();
}
