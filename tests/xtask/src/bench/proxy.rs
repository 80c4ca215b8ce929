//! A proxy before PostgreSQL that counts round trips.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::Result;

/// The type of the message that ends the answer to a round trip.
const READY_FOR_QUERY: u8 = b'Z';

/// The length of a message's header: its type, and its length without the type.
const HEADER: usize = 5;

/// A running proxy; it ends with this process.
pub struct Proxy {
    port: u16,
    round_trips: Arc<AtomicU64>,
}

impl Proxy {
    /// Starts a proxy on loopback before the server on `server`, whose clients must not ask for TLS.
    pub fn start(server: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Self { port: listener.local_addr()?.port(), round_trips: Arc::default() };
        let round_trips = Arc::clone(&proxy.round_trips);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A client whose connection fails reports it.
                let _ = connect(client, server, &round_trips);
            }
        });
        Ok(proxy)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of round trips so far, including one per connection.
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }
}

fn connect(client: TcpStream, server: u16, round_trips: &Arc<AtomicU64>) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || copy(from_client, to_server, |_| {}));
    let (mut messages, round_trips) = (Messages::default(), Arc::clone(round_trips));
    thread::spawn(move || {
        copy(server, client, |bytes| {
            round_trips.fetch_add(messages.count_ready(bytes), Ordering::Relaxed);
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

/// The position in a stream of messages of the server, which may be cut anywhere.
#[derive(Default)]
struct Messages {
    header: Vec<u8>,
    /// The number of bytes left of the current message.
    body: usize,
}

impl Messages {
    /// Reads the next bytes and returns how many messages say that the server is ready for the next query.
    fn count_ready(&mut self, mut bytes: &[u8]) -> u64 {
        let mut ready = 0;
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
                ready += u64::from(*kind == READY_FOR_QUERY);
                self.header.clear();
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::Messages;

    #[test]
    fn messages_are_counted_wherever_they_are_cut() {
        let message = |kind: u8, body: &[u8]| [&[kind][..], &u32::try_from(body.len() + 4).unwrap().to_be_bytes(), body].concat();
        let stream =
            [message(b'R', b"ZZZZ"), message(b'Z', b"I"), message(b'1', b""), message(b'D', &[b'Z'; 300]), message(b'Z', b"T")].concat();
        for size in 1..=stream.len() {
            let mut messages = Messages::default();
            assert_eq!(stream.chunks(size).map(|it| messages.count_ready(it)).sum::<u64>(), 2, "in pieces of {size}");
        }
    }
}
