/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies of QMP about a netdev: see netdev-query.h */
#include "qemu/osdep.h"

#include "netdev-query.h"
#include "qobject/qlist.h"

QDict *netdev_query(QTestState *qts, const char *command, const char *id)
{
    QDict *resp = qtest_qmp(qts, "{ 'execute': %s, 'arguments': "
                            "{ 'id': %s } }", command, id);
    QList *list = qdict_get_qlist(resp, "return");
    QDict *info;

    g_assert_nonnull(list);
    g_assert_cmpuint(qlist_size(list), ==, 1);
    info = qobject_to(QDict, qlist_peek(list));
    qobject_ref(info);
    qobject_unref(resp);
    return info;
}
