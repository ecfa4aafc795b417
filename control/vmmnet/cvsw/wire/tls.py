# SPDX-License-Identifier: GPL-2.0-or-later
"""TLS for OpenFlow: only switches with accepted certificates may connect."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

#: Time-out of a switch's handshake, seconds.
_HANDSHAKE_IN = 30.0


class BadFiles(Exception):
    """Certificates or keys are not usable; the message names option and file."""


class Refused(Exception):
    """A switch is refused; the message says why, and what would be right."""


def context(cert: Path, key: Path, ca: Path) -> ssl.SSLContext:
    """A context of a server that requires client certificates. Raises BadFiles."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.verify_mode = ssl.CERT_REQUIRED
    for option, path in (("--tls-cert", cert), ("--tls-key", key), ("--tls-ca", ca)):
        try:
            path.read_bytes()
        except OSError as error:
            raise BadFiles(f"{option} {path}: {error.strerror}") from None
    try:
        made.load_verify_locations(ca)
    except ssl.SSLError:
        raise BadFiles(
            f"--tls-ca {ca}: it has no certificate in PEM; it names who signs those of switches"
        ) from None
    try:
        made.load_cert_chain(cert, key, password=_none)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            why = f"--tls-key {key}: it is not the key of --tls-cert {cert}"
        else:
            why = f"--tls-cert {cert}, --tls-key {key}: both are PEM, the key without a password"
        raise BadFiles(why) from None
    return made


def _none() -> str:
    """No password: OpenSSL would ask at the terminal."""
    return ""


async def begin(writer: asyncio.StreamWriter, made: ssl.SSLContext) -> None:
    """Do the handshake with a connected switch; nothing was read from it yet.

    Raises Refused; the connection is closed then.
    """
    try:
        await writer.start_tls(made, ssl_handshake_timeout=_HANDSHAKE_IN)
    except (OSError, asyncio.IncompleteReadError) as error:
        writer.close()
        raise Refused(_why(error)) from None


def _why(error: Exception) -> str:
    reason = str(getattr(error, "reason", None))
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "it shows no certificate: give it one with 'ovs-vsctl set-ssl KEY CERT CA'"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message}: --tls-ca names who signs it"
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
        return "it speaks no TLS: its controller has to be ssl:ADDR:PORT, not tcp:"
    if reason.startswith(("TLSV1_ALERT", "SSLV3_ALERT", "TLSV13_ALERT")):
        return f"it refuses our certificate ({reason}): is --tls-cert signed by its CA?"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    return "it has ended the connection before TLS began: does its CA sign --tls-cert?"
