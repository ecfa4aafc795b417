/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP for the operator: metrics and commands
 *
 * A few connections at a time, each with limits of octets and time.  It runs in
 * the control thread.
 */
#ifndef DNSD_SERVER_SERVICE_PANEL_H
#define DNSD_SERVER_SERVICE_PANEL_H

#include "dnsd/server/core/metrics.h"
#include "dnsd/server/host/sockets.h"

#define DNSD_PANEL_MAX      16

typedef struct DnsdPanelOps {
    void (*metrics)(void *opaque, DnsdText *text);
    /* Returns false if it failed; @text has the result or the reason. */
    bool (*reload)(void *opaque, DnsdText *text);
    /* The same; @zone is from the request.  @force: whatever the serial */
    bool (*refresh)(void *opaque, const char *zone, bool force,
                    DnsdText *text);
} DnsdPanelOps;

typedef struct DnsdPanel DnsdPanel;

/**
 * dnsd_panel_new: listen at the path and the address of @config
 * @epoll: for its sockets; the data.ptr of their events is within the panel
 *
 * Returns: NULL, and @error has the reason.
 */
DnsdPanel *dnsd_panel_new(const DnsdConfig *config, int epoll,
                          const DnsdPanelOps *ops, void *opaque,
                          DnsdError *error);
void dnsd_panel_free(DnsdPanel *panel);

/** dnsd_panel_ready: handle an event; false if it is not for this module */
bool dnsd_panel_ready(DnsdPanel *panel, void *event);

/**
 * dnsd_panel_tick: close connections that exceed their time, and make the
 * control socket again if its file was removed; call it once a second
 */
void dnsd_panel_tick(DnsdPanel *panel);

/**
 * dnsd_panel_ask: send a request to a server
 * @request: "GET /metrics", "POST /reload", "POST /refresh/ZONE",
 *           "POST /retransfer/ZONE"
 * @to: where to print the body of the answer
 *
 * Returns: false if the answer is an error.  @error is empty then, or says
 * that there is no server.
 */
bool dnsd_panel_ask(const char *path, const char *request, int to,
                    DnsdError *error);

#endif /* DNSD_SERVER_SERVICE_PANEL_H */
