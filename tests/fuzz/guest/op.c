/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "op.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define COUNT(array)    (sizeof(array) / sizeof((array)[0]))

struct word {
    const char *text;
    uint32_t value;
};

static const struct word addr_words[] = {
    { "ANY", ADDR_ANY }, { "ME", ADDR_ME }, { "PEER", ADDR_PEER },
    { "PEER2", ADDR_PEER2 }, { "LOOPBACK", ADDR_LOOPBACK },
    { "FOREIGN", ADDR_FOREIGN }, { "POOL", ADDR_POOL },
    { "BROADCAST", ADDR_BROADCAST }, { "MULTICAST", ADDR_MULTICAST },
    { "UNSPEC", ADDR_UNSPEC }, { "INET6", ADDR_INET6 },
    { "FAMILY", ADDR_FAMILY }, { "NONE", ADDR_NONE }, { "NULL", ADDR_NULL },
    { "BAD", ADDR_BAD }, { "OTHER", ADDR_OTHER }, { NULL, 0 },
};

static const struct word port_words[] = {
    { "0", PORT_ZERO }, { "fixed0", PORT_FIXED_0 },
    { "fixed1", PORT_FIXED_1 }, { "fixed2", PORT_FIXED_2 },
    { "fixed3", PORT_FIXED_3 }, { "closed", PORT_CLOSED },
    { "low", PORT_LOW },
    { "s0", PORT_SLOT }, { "s1", PORT_SLOT + 1 }, { "s2", PORT_SLOT + 2 },
    { "s3", PORT_SLOT + 3 }, { "s4", PORT_SLOT + 4 },
    { "s5", PORT_SLOT + 5 },
    { "p0", PORT_PEER }, { "p1", PORT_PEER + 1 }, { "p2", PORT_PEER + 2 },
    { "p3", PORT_PEER + 3 }, { "p4", PORT_PEER + 4 },
    { "p5", PORT_PEER + 5 }, { NULL, 0 },
};

static const struct word layout_words[] = {
    { "PLAIN", LAYOUT_PLAIN }, { "EDGE", LAYOUT_EDGE },
    { "SPLIT", LAYOUT_SPLIT }, { "BYTES", LAYOUT_BYTES },
    { "MOST", LAYOUT_MOST }, { "TOO_MANY", LAYOUT_TOO_MANY },
    { "NULL", LAYOUT_NULL }, { "HOLE", LAYOUT_HOLE },
    { "BAD_PIECE", LAYOUT_BAD_PIECE }, { "KERNEL", LAYOUT_KERNEL },
    { "READONLY", LAYOUT_READONLY }, { "HUGE", LAYOUT_HUGE },
    { "NEGATIVE", LAYOUT_NEGATIVE }, { "BAD_VECTOR", LAYOUT_BAD_VECTOR },
    { NULL, 0 },
};

static const struct word form_words[] = {
    { "plain", FORM_PLAIN }, { "file", FORM_FILE },
    { "filev", FORM_FILE_VECTOR }, { "name", FORM_NAME },
    { "msg", FORM_MSG }, { "mmsg", FORM_MMSG }, { NULL, 0 },
};

static const struct word room_words[] = {
    { "NONE", ROOM_NONE }, { "EXACT", ROOM_EXACT }, { "SHORT", ROOM_SHORT },
    { "ZERO", ROOM_ZERO }, { "LONG", ROOM_LONG },
    { "NEGATIVE", ROOM_NEGATIVE }, { "BAD", ROOM_BAD },
    { "BAD_LENGTH", ROOM_BAD_LENGTH }, { NULL, 0 },
};

static const struct word control_words[] = {
    { "NONE", CONTROL_NONE }, { "TTL", CONTROL_TTL }, { "TOS", CONTROL_TOS },
    { "TOS_BYTE", CONTROL_TOS_BYTE }, { "TTL_ZERO", CONTROL_TTL_ZERO },
    { "PKTINFO", CONTROL_PKTINFO },
    { "PKTINFO_FOREIGN", CONTROL_PKTINFO_FOREIGN },
    { "SEGMENT", CONTROL_SEGMENT }, { "TWO", CONTROL_TWO },
    { "SHORT", CONTROL_SHORT }, { "LONG", CONTROL_LONG },
    { "LEVEL", CONTROL_LEVEL }, { "RIGHTS", CONTROL_RIGHTS },
    { "TIMESTAMP", CONTROL_TIMESTAMP }, { "BAD", CONTROL_BAD },
    { "HUGE", CONTROL_HUGE }, { NULL, 0 },
};

static const struct word ptr_words[] = {
    { "GOOD", PTR_GOOD }, { "NULL", PTR_NULL }, { "EDGE", PTR_EDGE },
    { "BAD", PTR_BAD }, { "BAD_LENGTH", PTR_BAD_LENGTH }, { NULL, 0 },
};

static const struct word flag_words[] = {
    { "OOB", MSG_OOB }, { "PEEK", MSG_PEEK }, { "DONTROUTE", MSG_DONTROUTE },
    { "CTRUNC", MSG_CTRUNC }, { "TRUNC", MSG_TRUNC },
    { "DONTWAIT", MSG_DONTWAIT }, { "EOR", MSG_EOR },
    { "WAITALL", MSG_WAITALL }, { "CONFIRM", MSG_CONFIRM },
    { "ERRQUEUE", MSG_ERRQUEUE }, { "NOSIGNAL", MSG_NOSIGNAL },
    { "MORE", MSG_MORE }, { "WAITFORONE", MSG_WAITFORONE },
    { "ZEROCOPY", MSG_ZEROCOPY }, { "FASTOPEN", MSG_FASTOPEN },
    { "CMSG_CLOEXEC", MSG_CMSG_CLOEXEC }, { NULL, 0 },
};

static const struct word event_words[] = {
    { "IN", EPOLLIN }, { "PRI", EPOLLPRI }, { "OUT", EPOLLOUT },
    { "ERR", EPOLLERR }, { "HUP", EPOLLHUP }, { "RDNORM", EPOLLRDNORM },
    { "RDBAND", EPOLLRDBAND }, { "WRNORM", EPOLLWRNORM },
    { "WRBAND", EPOLLWRBAND }, { "RDHUP", EPOLLRDHUP },
    { "EXCLUSIVE", EPOLLEXCLUSIVE }, { "ONESHOT", EPOLLONESHOT },
    { "ET", EPOLLET }, { NULL, 0 },
};

static const struct word level_words[] = {
    { "SOCKET", SOL_SOCKET }, { "IP", SOL_IP }, { "TCP", SOL_TCP },
    { "UDP", SOL_UDP }, { "IPV6", SOL_IPV6 }, { NULL, 0 },
};

/*
 * What an argument is: 's' one of our sockets, 'p' one of the peer's, 'd' a
 * decimal, 'x' a hexadecimal number, 'A' an address and a port; the others
 * name a list of words, of which 'f' and 'e' may have several.
 */
static const struct word *words_of(char type)
{
    switch (type) {
    case 't': return port_words;
    case 'l': return layout_words;
    case 'm': return form_words;
    case 'r': return room_words;
    case 'c': return control_words;
    case 'w': return ptr_words;
    case 'f': return flag_words;
    case 'e': return event_words;
    case 'v': return level_words;
    default: return NULL;
    }
}

struct argument {
    const char *name;
    char type;
};

static const struct {
    const char *name;
    struct argument arg[OP_ARGS];
} kinds[OP_KINDS] = {
    [OP_SOCKET] = { "socket",
        { { "slot", 's' }, { "type", 'x' }, { "protocol", 'd' } } },
    [OP_CLOSE] = { "close", { { "slot", 's' } } },
    [OP_DUP] = { "dup", { { "slot", 's' }, { "to", 's' } } },
    [OP_BIND] = { "bind",
        { { "slot", 's' }, { "address", 'A' }, { "len", 'd' } } },
    [OP_LISTEN] = { "listen", { { "slot", 's' }, { "backlog", 'd' } } },
    [OP_CONNECT] = { "connect",
        { { "slot", 's' }, { "address", 'A' }, { "len", 'd' } } },
    [OP_ACCEPT] = { "accept",
        { { "slot", 's' }, { "to", 's' }, { "flags", 'x' },
          { "room", 'r' } } },
    [OP_SHUTDOWN] = { "shutdown", { { "slot", 's' }, { "how", 'd' } } },
    [OP_NAME] = { "name",
        { { "slot", 's' }, { "peer", 'd' }, { "room", 'r' } } },
    [OP_SEND] = { "send",
        { { "slot", 's' }, { "size", 'd' }, { "flags", 'f' },
          { "form", 'm' }, { "layout", 'l' }, { "address", 'A' },
          { "control", 'c' } } },
    [OP_RECV] = { "recv",
        { { "slot", 's' }, { "size", 'd' }, { "flags", 'f' },
          { "form", 'm' }, { "layout", 'l' }, { "room", 'r' },
          { "control", 'd' } } },
    [OP_FILL] = { "fill", { { "slot", 's' }, { "size", 'd' } } },
    [OP_SPLICE_IN] = { "splice_in",
        { { "slot", 's' }, { "size", 'd' }, { "flags", 'x' },
          { "tee", 'd' } } },
    [OP_SPLICE_OUT] = { "splice_out",
        { { "slot", 's' }, { "size", 'd' }, { "flags", 'x' } } },
    [OP_SENDFILE] = { "sendfile",
        { { "slot", 's' }, { "size", 'd' }, { "offset", 'd' } } },
    [OP_VMSPLICE] = { "vmsplice",
        { { "slot", 's' }, { "size", 'd' }, { "flags", 'x' } } },
    [OP_POLL] = { "poll",
        { { "slots", 'x' }, { "events", 'e' }, { "timeout", 'd' } } },
    [OP_SELECT] = { "select", { { "slots", 'x' }, { "timeout", 'd' } } },
    [OP_EPCTL] = { "epoll_ctl",
        { { "epoll", 'd' }, { "what", 'd' }, { "slot", 's' },
          { "events", 'e' } } },
    [OP_EPWAIT] = { "epoll_wait",
        { { "epoll", 'd' }, { "max", 'd' }, { "timeout", 'd' } } },
    [OP_SET] = { "setsockopt",
        { { "slot", 's' }, { "level", 'v' }, { "name", 'd' },
          { "value", 'd' }, { "len", 'd' }, { "at", 'w' } } },
    [OP_GET] = { "getsockopt",
        { { "slot", 's' }, { "level", 'v' }, { "name", 'd' },
          { "len", 'd' }, { "at", 'w' } } },
    [OP_IOCTL] = { "ioctl",
        { { "slot", 's' }, { "command", 'x' }, { "value", 'd' },
          { "at", 'w' } } },
    [OP_FCNTL] = { "fcntl",
        { { "slot", 's' }, { "command", 'd' }, { "value", 'd' } } },
    [OP_PASS] = { "pass", { { "slot", 's' }, { "to", 's' } } },
    [OP_ODD] = { "odd", { { "slot", 's' }, { "which", 'd' } } },
    [OP_INTERRUPT] = { "interrupt",
        { { "thread", 'd' }, { "restart", 'd' } } },
    [OP_PAUSE] = { "pause", { { "ms", 'd' } } },
    [OP_PEER_LISTEN] = { "peer_listen",
        { { "peer", 'p' }, { "backlog", 'd' }, { "address", 'd' } } },
    [OP_PEER_ACCEPT] = { "peer_accept", { { "peer", 'p' }, { "to", 'p' } } },
    [OP_PEER_CONNECT] = { "peer_connect",
        { { "peer", 'p' }, { "port", 't' } } },
    [OP_PEER_SEND] = { "peer_send",
        { { "peer", 'p' }, { "size", 'd' }, { "flags", 'f' } } },
    [OP_PEER_RECV] = { "peer_recv",
        { { "peer", 'p' }, { "size", 'd' }, { "flags", 'f' } } },
    [OP_PEER_SHUTDOWN] = { "peer_shutdown",
        { { "peer", 'p' }, { "how", 'd' } } },
    [OP_PEER_CLOSE] = { "peer_close", { { "peer", 'p' } } },
    [OP_PEER_RESET] = { "peer_reset", { { "peer", 'p' } } },
    [OP_PEER_OPEN] = { "peer_open",
        { { "peer", 'p' }, { "address", 'd' } } },
    [OP_PEER_SENDTO] = { "peer_sendto",
        { { "peer", 'p' }, { "port", 't' }, { "size", 'd' },
          { "tos", 'd' } } },
    [OP_PEER_RECVFROM] = { "peer_recvfrom", { { "peer", 'p' } } },
};

#define ROW(level, name) { level, name, #level "." #name }
/* Numbers that the C library of the build may not know. */
#define ROW_NUMBER(level, number, name) { level, number, #level "." name }

const struct option_row option_rows[] = {
    ROW(SOL_SOCKET, SO_DEBUG), ROW(SOL_SOCKET, SO_REUSEADDR),
    ROW(SOL_SOCKET, SO_TYPE), ROW(SOL_SOCKET, SO_ERROR),
    ROW(SOL_SOCKET, SO_DONTROUTE), ROW(SOL_SOCKET, SO_BROADCAST),
    ROW(SOL_SOCKET, SO_SNDBUF), ROW(SOL_SOCKET, SO_RCVBUF),
    ROW(SOL_SOCKET, SO_KEEPALIVE), ROW(SOL_SOCKET, SO_OOBINLINE),
    ROW(SOL_SOCKET, SO_NO_CHECK), ROW(SOL_SOCKET, SO_PRIORITY),
    ROW(SOL_SOCKET, SO_LINGER), ROW(SOL_SOCKET, SO_BSDCOMPAT),
    ROW(SOL_SOCKET, SO_REUSEPORT), ROW(SOL_SOCKET, SO_PASSCRED),
    ROW(SOL_SOCKET, SO_PEERCRED), ROW(SOL_SOCKET, SO_RCVLOWAT),
    ROW(SOL_SOCKET, SO_SNDLOWAT), ROW(SOL_SOCKET, SO_RCVTIMEO),
    ROW(SOL_SOCKET, SO_SNDTIMEO), ROW(SOL_SOCKET, SO_BINDTODEVICE),
    ROW(SOL_SOCKET, SO_ATTACH_FILTER), ROW(SOL_SOCKET, SO_DETACH_FILTER),
    ROW(SOL_SOCKET, SO_PEERNAME), ROW(SOL_SOCKET, SO_TIMESTAMP),
    ROW(SOL_SOCKET, SO_ACCEPTCONN), ROW(SOL_SOCKET, SO_PEERSEC),
    ROW(SOL_SOCKET, SO_SNDBUFFORCE), ROW(SOL_SOCKET, SO_RCVBUFFORCE),
    ROW(SOL_SOCKET, SO_PASSSEC), ROW(SOL_SOCKET, SO_TIMESTAMPNS),
    ROW(SOL_SOCKET, SO_MARK), ROW(SOL_SOCKET, SO_TIMESTAMPING),
    ROW(SOL_SOCKET, SO_PROTOCOL), ROW(SOL_SOCKET, SO_DOMAIN),
    ROW(SOL_SOCKET, SO_RXQ_OVFL), ROW(SOL_SOCKET, SO_WIFI_STATUS),
    ROW(SOL_SOCKET, SO_PEEK_OFF), ROW(SOL_SOCKET, SO_NOFCS),
    ROW(SOL_SOCKET, SO_LOCK_FILTER), ROW(SOL_SOCKET, SO_SELECT_ERR_QUEUE),
    ROW(SOL_SOCKET, SO_BUSY_POLL), ROW(SOL_SOCKET, SO_MAX_PACING_RATE),
    ROW(SOL_SOCKET, SO_BPF_EXTENSIONS), ROW(SOL_SOCKET, SO_INCOMING_CPU),
    ROW(SOL_SOCKET, SO_ATTACH_BPF),
    ROW(SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF),
    ROW(SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF),
    ROW(SOL_SOCKET, SO_CNX_ADVICE), ROW(SOL_SOCKET, SO_MEMINFO),
    ROW(SOL_SOCKET, SO_INCOMING_NAPI_ID), ROW(SOL_SOCKET, SO_COOKIE),
    ROW(SOL_SOCKET, SO_PEERGROUPS), ROW(SOL_SOCKET, SO_ZEROCOPY),
    ROW(SOL_SOCKET, SO_TXTIME), ROW(SOL_SOCKET, SO_BINDTOIFINDEX),
    ROW_NUMBER(SOL_SOCKET, 63, "SO_TIMESTAMP_NEW"),
    ROW_NUMBER(SOL_SOCKET, 64, "SO_TIMESTAMPNS_NEW"),
    ROW_NUMBER(SOL_SOCKET, 65, "SO_TIMESTAMPING_NEW"),
    ROW_NUMBER(SOL_SOCKET, 66, "SO_RCVTIMEO_NEW"),
    ROW_NUMBER(SOL_SOCKET, 67, "SO_SNDTIMEO_NEW"),
    ROW_NUMBER(SOL_SOCKET, 68, "SO_DETACH_REUSEPORT_BPF"),
    ROW_NUMBER(SOL_SOCKET, 69, "SO_PREFER_BUSY_POLL"),
    ROW_NUMBER(SOL_SOCKET, 70, "SO_BUSY_POLL_BUDGET"),
    ROW_NUMBER(SOL_SOCKET, 71, "SO_NETNS_COOKIE"),
    ROW_NUMBER(SOL_SOCKET, 72, "SO_BUF_LOCK"),
    ROW_NUMBER(SOL_SOCKET, 73, "SO_RESERVE_MEM"),
    ROW_NUMBER(SOL_SOCKET, 74, "SO_TXREHASH"),
    ROW_NUMBER(SOL_SOCKET, 75, "SO_RCVMARK"),

    ROW(SOL_IP, IP_TOS), ROW(SOL_IP, IP_TTL), ROW(SOL_IP, IP_HDRINCL),
    ROW(SOL_IP, IP_OPTIONS), ROW(SOL_IP, IP_ROUTER_ALERT),
    ROW(SOL_IP, IP_RECVOPTS), ROW(SOL_IP, IP_RETOPTS),
    ROW(SOL_IP, IP_PKTINFO), ROW(SOL_IP, IP_PKTOPTIONS),
    ROW(SOL_IP, IP_MTU_DISCOVER), ROW(SOL_IP, IP_RECVERR),
    ROW(SOL_IP, IP_RECVTTL), ROW(SOL_IP, IP_RECVTOS), ROW(SOL_IP, IP_MTU),
    ROW(SOL_IP, IP_FREEBIND), ROW(SOL_IP, IP_IPSEC_POLICY),
    ROW(SOL_IP, IP_XFRM_POLICY), ROW(SOL_IP, IP_PASSSEC),
    ROW(SOL_IP, IP_TRANSPARENT), ROW(SOL_IP, IP_ORIGDSTADDR),
    ROW(SOL_IP, IP_MINTTL), ROW(SOL_IP, IP_NODEFRAG),
    ROW(SOL_IP, IP_CHECKSUM), ROW(SOL_IP, IP_BIND_ADDRESS_NO_PORT),
    ROW(SOL_IP, IP_RECVFRAGSIZE),
    ROW_NUMBER(SOL_IP, 26, "IP_RECVERR_RFC4884"),
    ROW(SOL_IP, IP_MULTICAST_IF), ROW(SOL_IP, IP_MULTICAST_TTL),
    ROW(SOL_IP, IP_MULTICAST_LOOP), ROW(SOL_IP, IP_ADD_MEMBERSHIP),
    ROW(SOL_IP, IP_DROP_MEMBERSHIP), ROW(SOL_IP, IP_UNBLOCK_SOURCE),
    ROW(SOL_IP, IP_BLOCK_SOURCE), ROW(SOL_IP, IP_ADD_SOURCE_MEMBERSHIP),
    ROW(SOL_IP, IP_DROP_SOURCE_MEMBERSHIP), ROW(SOL_IP, IP_MSFILTER),
    ROW(SOL_IP, MCAST_JOIN_GROUP), ROW(SOL_IP, MCAST_LEAVE_GROUP),
    ROW(SOL_IP, MCAST_MSFILTER), ROW(SOL_IP, IP_MULTICAST_ALL),
    ROW(SOL_IP, IP_UNICAST_IF),
    ROW_NUMBER(SOL_IP, 51, "IP_LOCAL_PORT_RANGE"),
    ROW_NUMBER(SOL_IP, 52, "IP_PROTOCOL"),

    ROW(SOL_IPV6, IPV6_V6ONLY), ROW(SOL_IPV6, IPV6_V6ONLY),
    ROW(SOL_IPV6, IPV6_UNICAST_HOPS), ROW(SOL_IPV6, IPV6_TCLASS),
    ROW(SOL_IPV6, IPV6_RECVTCLASS), ROW(SOL_IPV6, IPV6_RECVHOPLIMIT),
    ROW(SOL_IPV6, IPV6_RECVPKTINFO), ROW(SOL_IPV6, IPV6_RECVERR),
    ROW(SOL_IPV6, IPV6_MTU), ROW(SOL_IPV6, IPV6_MTU_DISCOVER),
    ROW(SOL_IPV6, IPV6_DONTFRAG), ROW(SOL_IPV6, IPV6_MULTICAST_HOPS),
    ROW(SOL_IPV6, IPV6_MULTICAST_LOOP), ROW(SOL_IPV6, IPV6_MULTICAST_IF),
    ROW(SOL_IPV6, IPV6_MULTICAST_ALL), ROW(SOL_IPV6, IPV6_UNICAST_IF),
    ROW(SOL_IPV6, IPV6_ADD_MEMBERSHIP), ROW(SOL_IPV6, IPV6_DROP_MEMBERSHIP),
    ROW(SOL_IPV6, IPV6_MINHOPCOUNT), ROW(SOL_IPV6, IPV6_AUTOFLOWLABEL),
    ROW(SOL_IPV6, IPV6_ADDR_PREFERENCES), ROW(SOL_IPV6, IPV6_FREEBIND),
    ROW(SOL_IPV6, IPV6_TRANSPARENT), ROW(SOL_IPV6, IPV6_PKTINFO),
    ROW(SOL_IPV6, IPV6_RTHDR), ROW(SOL_IPV6, IPV6_HOPOPTS),
    ROW(SOL_IPV6, IPV6_DSTOPTS), ROW(SOL_IPV6, IPV6_RECVRTHDR),
    ROW(SOL_IPV6, IPV6_RECVHOPOPTS), ROW(SOL_IPV6, IPV6_RECVDSTOPTS),
    ROW(SOL_IPV6, IPV6_RECVPATHMTU), ROW(SOL_IPV6, IPV6_PATHMTU),
    ROW(SOL_IPV6, IPV6_RECVORIGDSTADDR), ROW(SOL_IPV6, IPV6_RECVFRAGSIZE),
    ROW_NUMBER(SOL_IPV6, 1, "IPV6_ADDRFORM"),
    ROW_NUMBER(SOL_IPV6, 11, "IPV6_FLOWINFO"),
    ROW_NUMBER(SOL_IPV6, 33, "IPV6_FLOWINFO_SEND"),
    ROW_NUMBER(SOL_IPV6, 31, "IPV6_RECVERR_RFC4884"),

    ROW(SOL_TCP, TCP_NODELAY), ROW(SOL_TCP, TCP_MAXSEG),
    ROW(SOL_TCP, TCP_CORK), ROW(SOL_TCP, TCP_KEEPIDLE),
    ROW(SOL_TCP, TCP_KEEPINTVL), ROW(SOL_TCP, TCP_KEEPCNT),
    ROW(SOL_TCP, TCP_SYNCNT), ROW(SOL_TCP, TCP_LINGER2),
    ROW(SOL_TCP, TCP_DEFER_ACCEPT), ROW(SOL_TCP, TCP_WINDOW_CLAMP),
    ROW(SOL_TCP, TCP_INFO), ROW(SOL_TCP, TCP_QUICKACK),
    ROW(SOL_TCP, TCP_CONGESTION), ROW(SOL_TCP, TCP_MD5SIG),
    ROW(SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS), ROW(SOL_TCP, TCP_THIN_DUPACK),
    ROW(SOL_TCP, TCP_USER_TIMEOUT), ROW(SOL_TCP, TCP_REPAIR),
    ROW(SOL_TCP, TCP_REPAIR_QUEUE), ROW(SOL_TCP, TCP_QUEUE_SEQ),
    ROW(SOL_TCP, TCP_REPAIR_OPTIONS), ROW(SOL_TCP, TCP_FASTOPEN),
    ROW(SOL_TCP, TCP_TIMESTAMP), ROW(SOL_TCP, TCP_NOTSENT_LOWAT),
    ROW(SOL_TCP, TCP_CC_INFO), ROW(SOL_TCP, TCP_SAVE_SYN),
    ROW(SOL_TCP, TCP_SAVED_SYN), ROW(SOL_TCP, TCP_REPAIR_WINDOW),
    ROW(SOL_TCP, TCP_FASTOPEN_CONNECT), ROW(SOL_TCP, TCP_ULP),
    ROW(SOL_TCP, TCP_MD5SIG_EXT), ROW(SOL_TCP, TCP_FASTOPEN_KEY),
    ROW(SOL_TCP, TCP_FASTOPEN_NO_COOKIE),
    ROW(SOL_TCP, TCP_ZEROCOPY_RECEIVE), ROW(SOL_TCP, TCP_INQ),
    ROW(SOL_TCP, TCP_TX_DELAY),

    ROW(SOL_UDP, UDP_CORK), ROW(SOL_UDP, UDP_ENCAP),
    ROW(SOL_UDP, UDP_NO_CHECK6_TX), ROW(SOL_UDP, UDP_NO_CHECK6_RX),
    ROW(SOL_UDP, UDP_SEGMENT), ROW(SOL_UDP, UDP_GRO),
};
const size_t option_rows_num = COUNT(option_rows);

char op_arg_type(enum op_kind kind, unsigned i)
{
    return kinds[kind].arg[i].type;
}

const char *op_name(enum op_kind kind)
{
    return kinds[kind].name;
}

bool op_sends(enum op_kind kind)
{
    return kind == OP_SEND || kind == OP_FILL || kind == OP_SENDFILE ||
           kind == OP_SPLICE_OUT || kind == OP_VMSPLICE;
}

bool op_is_call(enum op_kind kind)
{
    return kind < OP_INTERRUPT;
}

const char *op_option_name(uint32_t level, uint32_t name)
{
    static char text[48];
    size_t i;

    for (i = 0; i < option_rows_num; i++) {
        if ((uint32_t)option_rows[i].level == level &&
            (uint32_t)option_rows[i].name == name) {
            return option_rows[i].text;
        }
    }
    snprintf(text, sizeof(text), "%d.%d", (int)level, (int)name);
    return text;
}

const char *op_error_name(int error)
{
#define NAME(error) [error] = #error
    static const char *const names[] = {
        NAME(EPERM), NAME(ENOENT), NAME(EINTR), NAME(EIO), NAME(EBADF),
        NAME(ECHILD), NAME(EAGAIN), NAME(ENOMEM), NAME(EACCES),
        NAME(EFAULT), NAME(EBUSY), NAME(EEXIST), NAME(ENODEV),
        NAME(ENOTDIR), NAME(EINVAL), NAME(ENFILE), NAME(EMFILE),
        NAME(ENOTTY), NAME(ESPIPE), NAME(EPIPE), NAME(EDOM), NAME(ERANGE),
        NAME(ENOSYS), NAME(ENOMSG), NAME(ENODATA), NAME(EPROTO),
        NAME(EOVERFLOW), NAME(ENOTSOCK), NAME(EDESTADDRREQ),
        NAME(EMSGSIZE), NAME(EPROTOTYPE), NAME(ENOPROTOOPT),
        NAME(EPROTONOSUPPORT), NAME(ESOCKTNOSUPPORT), NAME(EOPNOTSUPP),
        NAME(EPFNOSUPPORT), NAME(EAFNOSUPPORT), NAME(EADDRINUSE),
        NAME(EADDRNOTAVAIL), NAME(ENETDOWN), NAME(ENETUNREACH),
        NAME(ENETRESET), NAME(ECONNABORTED), NAME(ECONNRESET),
        NAME(ENOBUFS), NAME(EISCONN), NAME(ENOTCONN), NAME(ESHUTDOWN),
        NAME(ETIMEDOUT), NAME(ECONNREFUSED), NAME(EHOSTDOWN),
        NAME(EHOSTUNREACH), NAME(EALREADY), NAME(EINPROGRESS),
    };
#undef NAME
    static char text[24];

    if (error > 0 && (size_t)error < COUNT(names) && names[error]) {
        return names[error];
    }
    snprintf(text, sizeof(text), "E%d", error);
    return text;
}

/* --- to text ------------------------------------------------------------- */

static size_t print_word(char *to, size_t room, const struct word *words,
                         uint32_t value)
{
    for (; words->text; words++) {
        if (words->value == value) {
            return snprintf(to, room, "%s", words->text);
        }
    }
    return snprintf(to, room, "0x%x", value);
}

static size_t print_words(char *to, size_t room, const struct word *words,
                          uint32_t value)
{
    size_t used = 0;

    for (; words->text; words++) {
        if (value & words->value) {
            used += snprintf(to + used, room - used, "%s%s", used ? "|" : "",
                             words->text);
            value &= ~words->value;
        }
    }
    if (value || !used) {
        used += snprintf(to + used, room - used, "%s0x%x", used ? "|" : "",
                         value);
    }
    return used;
}

static size_t print_value(char *to, size_t room, char type, uint32_t value)
{
    size_t used;

    switch (type) {
    case 's':
    case 'p':
        return snprintf(to, room, "%c%u", type, value);
    case 'x':
        return snprintf(to, room, "0x%x", value);
    case 'A':
        used = print_word(to, room, addr_words, value & 0xff);
        used += snprintf(to + used, room - used, ":");
        return used + print_word(to + used, room - used, port_words,
                                 value >> 8);
    case 'f':
    case 'e':
        return print_words(to, room, words_of(type), value);
    case 'd':
        return snprintf(to, room, "%d", (int)value);
    default:
        return print_word(to, room, words_of(type), value);
    }
}

void op_print(const struct op *op, char *text)
{
    const struct argument *arg = kinds[op->kind].arg;
    size_t used, i;

    used = snprintf(text, OP_TEXT, "%u%s %s", op->thread,
                    op->fork ? "f" : "", kinds[op->kind].name);
    for (i = 0; i < OP_ARGS && arg[i].name; i++) {
        used += snprintf(text + used, OP_TEXT - used, " %s=", arg[i].name);
        used += print_value(text + used, OP_TEXT - used, arg[i].type,
                            op->arg[i]);
    }
    if (op->kind == OP_SET || op->kind == OP_GET) {
        snprintf(text + used, OP_TEXT - used, "  # %s",
                 op_option_name(op->arg[1], op->arg[2]));
    }
}

/* --- from text ----------------------------------------------------------- */

static bool parse_number(const char *text, uint32_t *value)
{
    long long number;
    int used = 0;

    if (sscanf(text, "%lli%n", &number, &used) != 1 || text[used]) {
        return false;
    }
    *value = number;
    return true;
}

static bool parse_word(const char *text, const struct word *words,
                       uint32_t *value)
{
    const struct word *w;

    for (w = words; w->text; w++) {
        if (!strcmp(w->text, text)) {
            *value = w->value;
            return true;
        }
    }
    return parse_number(text, value);
}

static bool parse_words(char *text, const struct word *words, uint32_t *value)
{
    char *save, *part;
    uint32_t one;

    *value = 0;
    for (part = strtok_r(text, "|", &save); part;
         part = strtok_r(NULL, "|", &save)) {
        if (!parse_word(part, words, &one)) {
            return false;
        }
        *value |= one;
    }
    return true;
}

static bool parse_address(char *text, uint32_t *value)
{
    char *colon = strchr(text, ':');
    uint32_t addr, port;

    if (!colon) {
        return false;
    }
    *colon = '\0';
    if (!parse_word(text, addr_words, &addr) ||
        !parse_word(colon + 1, port_words, &port)) {
        return false;
    }
    *value = addr | port << 8;
    return true;
}

static bool parse_value(char *text, char type, uint32_t *value)
{
    switch (type) {
    case 's':
    case 'p':
        return *text == type && parse_number(text + 1, value) &&
               *value < (type == 's' ? SLOTS : PEERS);
    case 'A':
        return parse_address(text, value);
    case 'f':
    case 'e':
        return parse_words(text, words_of(type), value);
    case 'd':
    case 'x':
        return parse_number(text, value);
    default:
        return parse_word(text, words_of(type), value);
    }
}

static bool parse_kind(const char *name, struct op *op)
{
    for (op->kind = 0; op->kind < OP_KINDS; op->kind++) {
        if (!strcmp(kinds[op->kind].name, name)) {
            return true;
        }
    }
    return false;
}

bool op_parse(const char *text, struct op *op)
{
    char copy[OP_TEXT], *save, *word, *value;
    const struct argument *arg;
    size_t i;

    memset(op, 0, sizeof(*op));
    snprintf(copy, sizeof(copy), "%s", text);
    copy[strcspn(copy, "#\n")] = '\0';
    word = strtok_r(copy, " ", &save);
    if (!word || word[0] < '0' || word[0] >= '0' + THREADS) {
        return false;
    }
    op->thread = word[0] - '0';
    op->fork = word[1] == 'f';
    word = strtok_r(NULL, " ", &save);
    if (!word || !parse_kind(word, op)) {
        return false;
    }
    arg = kinds[op->kind].arg;
    for (i = 0; i < OP_ARGS && arg[i].name; i++) {
        word = strtok_r(NULL, " ", &save);
        value = word ? strchr(word, '=') : NULL;
        if (!value) {
            return false;
        }
        *value++ = '\0';
        if (strcmp(word, arg[i].name) ||
            !parse_value(value, arg[i].type, &op->arg[i])) {
            return false;
        }
    }
    return true;
}
