/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to another thread: all arrive, or come back */
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "dnsd/server/workers/request.h"

#define PUTTERS     4
#define BATCH       64
#define BATCHES     500

/* @count requests with numbers from @first on, which are their octets */
static DnsdRequest *chain_of(unsigned first, unsigned count)
{
    DnsdRequest *head = NULL, **end = &head;

    for (unsigned i = first; i < first + count; i++) {
        const DnsQuery query = {
            .message = (const uint8_t *)&i, .len = sizeof(i),
        };

        *end = dnsd_request_new(&query);
        end = &(*end)->next;
    }
    return head;
}

static unsigned number_of(const DnsdRequest *r)
{
    unsigned number;

    memcpy(&number, r->msg, sizeof(number));
    return number;
}

static bool is_awake(const DnsdRequests *requests)
{
    struct pollfd p = { .fd = requests->wake, .events = POLLIN };

    return poll(&p, 1, 0) == 1;
}

/*
 * Takes all requests, which have the numbers from @first on.  Returns: their
 * number.
 */
static unsigned take_from(DnsdRequests *requests, unsigned first)
{
    DnsdRequest *all = dnsd_requests_take(requests);
    unsigned count = 0;

    for (const DnsdRequest *r = all; r; r = r->next) {
        g_assert_cmpuint(number_of(r), ==, first + count);
        count++;
    }
    dnsd_requests_free(all);
    return count;
}

/* A chain is appended, and an awake reader is not woken again. */
static void test_chain(void)
{
    DnsdRequests requests;

    g_assert_cmpint(dnsd_requests_init(&requests), ==, 0);
    g_assert_null(dnsd_requests_put_all(&requests, NULL));
    g_assert_false(is_awake(&requests));
    g_assert_true(dnsd_requests_put(&requests, chain_of(0, 1), true));
    g_assert_null(dnsd_requests_put_all(&requests, chain_of(1, 3)));
    g_assert_true(is_awake(&requests));
    g_assert_cmpuint(take_from(&requests, 0), ==, 4);
    g_assert_false(is_awake(&requests));
    g_assert_null(dnsd_requests_put_all(&requests, chain_of(4, 2)));
    g_assert_true(is_awake(&requests));
    g_assert_cmpuint(take_from(&requests, 4), ==, 2);
    dnsd_requests_destroy(&requests);
}

/* Requests beyond the limit come back: the newest ones. */
static void test_bounds(void)
{
    DnsdRequests requests;
    DnsdRequest *left;

    g_assert_cmpint(dnsd_requests_init(&requests), ==, 0);
    left = dnsd_requests_put_all(&requests, chain_of(0, DNSD_REQUESTS_MAX + 3));
    g_assert_cmpuint(number_of(left), ==, DNSD_REQUESTS_MAX);
    g_assert_nonnull(left->next->next);
    g_assert_null(left->next->next->next);
    g_assert_true(dnsd_requests_put_all(&requests, left) == left);
    dnsd_requests_free(left);
    g_assert_cmpuint(take_from(&requests, 0), ==, DNSD_REQUESTS_MAX);
    dnsd_requests_destroy(&requests);
}

static void *put_batches(void *opaque)
{
    DnsdRequests *requests = opaque;

    for (unsigned i = 0; i < BATCHES; i++) {
        DnsdRequest *left = chain_of(i * BATCH, BATCH);

        while ((left = dnsd_requests_put_all(requests, left))) {
            g_thread_yield();
        }
    }
    return NULL;
}

/* Threads fill the queue while another empties it: nothing is lost. */
static void test_threads(void)
{
    GThread *putter[PUTTERS];
    DnsdRequests requests;
    unsigned taken = 0;

    g_assert_cmpint(dnsd_requests_init(&requests), ==, 0);
    for (unsigned i = 0; i < PUTTERS; i++) {
        putter[i] = g_thread_new("put", put_batches, &requests);
    }
    while (taken < PUTTERS * BATCHES * BATCH) {
        struct pollfd p = { .fd = requests.wake, .events = POLLIN };
        DnsdRequest *all;

        poll(&p, 1, -1);
        all = dnsd_requests_take(&requests);
        for (const DnsdRequest *r = all; r; r = r->next) {
            taken++;
        }
        dnsd_requests_free(all);
    }
    for (unsigned i = 0; i < PUTTERS; i++) {
        g_thread_join(putter[i]);
    }
    dnsd_requests_destroy(&requests);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/requests/chain", test_chain);
    g_test_add_func("/dnsd/requests/bounds", test_bounds);
    g_test_add_func("/dnsd/requests/threads", test_threads);
    return g_test_run();
}
