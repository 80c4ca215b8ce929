//! A proxy before PostgreSQL that counts statements and round trips.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::Result;

/// The types of the client's messages that execute a statement: Query and Execute.
const STATEMENTS: &[u8] = b"QE";

/// The type of the server's message that ends the answer to a round trip: ReadyForQuery.
const ROUND_TRIPS: &[u8] = b"Z";

/// The length of a message's header: its type, and its length without the type.
const HEADER: usize = 5;

/// A running proxy; it ends with this process.
pub struct Proxy {
    port: u16,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    statements: AtomicU64,
    round_trips: AtomicU64,
}

impl Proxy {
    /// Starts a proxy on loopback before the server on `server`, whose clients must not ask for TLS.
    pub fn start(server: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Self { port: listener.local_addr()?.port(), counts: Arc::default() };
        let counts = Arc::clone(&proxy.counts);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A client whose connection fails reports it.
                let _ = connect(client, server, &counts);
            }
        });
        Ok(proxy)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the numbers of statements and of round trips so far; each connection begins with a round trip.
    pub fn counts(&self) -> (u64, u64) {
        (self.counts.statements.load(Ordering::Relaxed), self.counts.round_trips.load(Ordering::Relaxed))
    }
}

fn connect(client: TcpStream, server: u16, counts: &Arc<Counts>) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    let (of_client, of_server) = (Arc::clone(counts), Arc::clone(counts));
    thread::spawn(move || {
        let mut messages = Messages::from_client();
        copy(from_client, to_server, |bytes| {
            of_client.statements.fetch_add(messages.count(bytes, STATEMENTS), Ordering::Relaxed);
        });
    });
    thread::spawn(move || {
        let mut messages = Messages::default();
        copy(server, client, |bytes| {
            of_server.round_trips.fetch_add(messages.count(bytes, ROUND_TRIPS), Ordering::Relaxed);
        });
    });
    Ok(())
}

/// Copies until either side ends. The bytes are shown to `visit` before they are sent, so that what was received has been counted.
fn copy(mut from: TcpStream, mut to: TcpStream, mut visit: impl FnMut(&[u8])) {
    let _ = to.set_nodelay(true);
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = buffer.get(..length).unwrap_or_default();
        visit(bytes);
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The position in a stream of messages, which may be cut anywhere.
#[derive(Default)]
struct Messages {
    header: Vec<u8>,
    /// The number of bytes left of the current message.
    body: usize,
}

impl Messages {
    /// Returns the begin of a client's messages, the first of which has no type.
    fn from_client() -> Self {
        Self { header: vec![0], body: 0 }
    }

    /// Reads the next bytes and returns how many messages of these types begin in them.
    fn count(&mut self, mut bytes: &[u8], kinds: &[u8]) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() {
            let skipped = self.body.min(bytes.len());
            self.body -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let (begin, rest) = bytes.split_at((HEADER - self.header.len()).min(bytes.len()));
            self.header.extend(begin);
            bytes = rest;
            if let [kind, length @ ..] = self.header.as_slice()
                && let Ok(length) = <[u8; 4]>::try_from(length)
            {
                // The length includes itself.
                self.body = (u32::from_be_bytes(length) as usize).saturating_sub(4);
                count += u64::from(kinds.contains(kind));
                self.header.clear();
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::{Messages, ROUND_TRIPS, STATEMENTS};

    #[test]
    fn messages_are_counted_wherever_they_are_cut() {
        let message = |kind: u8, body: &[u8]| [&[kind][..], &u32::try_from(body.len() + 4).unwrap().to_be_bytes(), body].concat();
        let stream =
            [message(b'R', b"ZZZZ"), message(b'Z', b"I"), message(b'1', b""), message(b'D', &[b'Z'; 300]), message(b'Z', b"T")].concat();
        let with_startup = [&message(0, b"QQQQ")[1..], &message(b'Q', b"begin"), &message(b'E', b"")].concat();
        for size in 1..=stream.len() {
            let count =
                |mut messages: Messages, stream: &[u8], kinds| stream.chunks(size).map(|chunk| messages.count(chunk, kinds)).sum::<u64>();
            assert_eq!(count(Messages::default(), &stream, ROUND_TRIPS), 2, "in pieces of {size}");
            assert_eq!(count(Messages::from_client(), &with_startup, STATEMENTS), 2, "in pieces of {size}");
        }
    }
}
