/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP for who operates the server: metrics, and orders
 *
 * A few connections at a time, each bounded in octets and in time; runs in the
 * control thread.
 */
#ifndef NET_DNS_SERVER_SERVICE_PANEL_H
#define NET_DNS_SERVER_SERVICE_PANEL_H

#include "net/dns/server/core/metrics.h"
#include "net/dns/server/host/sockets.h"

#define DNSD_PANEL_MAX      16

typedef struct DnsdPanelOps {
    void (*metrics)(void *opaque, DnsdText *text);
    /* Returns false if it could not be done; @text says what was, or why */
    bool (*reload)(void *opaque, DnsdText *text);
    /* The same; @zone is what the request has */
    bool (*refresh)(void *opaque, const char *zone, DnsdText *text);
} DnsdPanelOps;

typedef struct DnsdPanel DnsdPanel;

/**
 * dnsd_panel_new: listen at the path and the address of @config
 * @epoll: where it adds its sockets, with events of data.ptr within the panel
 *
 * Returns: NULL, and @mistake says why.
 */
DnsdPanel *dnsd_panel_new(const DnsdConfig *config, int epoll,
                          const DnsdPanelOps *ops, void *opaque,
                          DnsdMistake *mistake);
void dnsd_panel_free(DnsdPanel *panel);

/** dnsd_panel_ready: an event of the panel's; false if it is not. */
bool dnsd_panel_ready(DnsdPanel *panel, void *event);

/** dnsd_panel_expire: close connections that take too long. */
void dnsd_panel_expire(DnsdPanel *panel);

/**
 * dnsd_panel_ask: the client's side
 * @request: "GET /metrics", "POST /reload", "POST /refresh/ZONE"
 * @to: where the body of the answer is printed
 *
 * Returns: false if the answer was no success, and then @mistake is empty, or
 * says that there is no server.
 */
bool dnsd_panel_ask(const char *path, const char *request, int to,
                    DnsdMistake *mistake);

#endif /* NET_DNS_SERVER_SERVICE_PANEL_H */
