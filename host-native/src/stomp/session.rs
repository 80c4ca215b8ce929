//! The server side of a STOMP connection: turns client frames into actions and reply frames. Performs no I/O.

use std::time::Duration;

use super::frame::{Frame, Parsed, Version, Wait, parse};
use crate::http::request::uuid;

/// Minimum heartbeat interval of both sides in milliseconds.
const BEAT: u64 = 10_000;

/// Maximum number of subscriptions per connection.
const MOST: usize = 64;

/// What the host must do in response to a client frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Send a text to the client.
    Send(String),
    /// Subscribe to the events of a conversation.
    Listen {
        /// The subscription id chosen by the client.
        id: String,
        /// The destination as sent by the client.
        destination: String,
        /// The conversation as a lower-case UUID; absent if the destination has no events.
        conversation: Option<String>,
    },
    /// End a subscription by its id.
    Leave(String),
    /// Close the connection after sending everything.
    Close,
}

/// The protocol state of a connection.
#[derive(Debug)]
pub struct Session {
    base: String,
    version: Option<Version>,
    received: Vec<u8>,
    wait: Wait,
    names: Vec<String>,
    messages: u64,
    closed: bool,
    /// How often the server sends heartbeats, if the client requested them.
    pub sends_every: Option<Duration>,
    /// How long the client may be silent before the connection closes.
    pub gone_after: Option<Duration>,
}

impl Session {
    /// Creates the state of a new connection; destinations are `base`, a slash and the conversation id.
    pub fn new(base: &str) -> Session {
        Session {
            base: base.to_owned(),
            version: None,
            received: Vec::new(),
            wait: Wait::Bytes(1),
            names: Vec::new(),
            messages: 0,
            closed: false,
            sends_every: None,
            gone_after: None,
        }
    }

    /// Handles bytes from the client, which may contain partial frames.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Asked> {
        let mut actions = Vec::new();
        if self.closed {
            return actions;
        }
        self.received.extend_from_slice(bytes);
        if !self.wait.is_over(bytes, self.received.len()) {
            return actions;
        }
        let mut offset = 0;
        while !self.closed {
            match parse(self.received.get(offset..).unwrap_or_default(), self.spoken()) {
                Ok(Parsed::Beat(length)) => offset += length,
                Ok(Parsed::Frame(frame, length)) => {
                    offset += length;
                    self.take(&frame, &mut actions);
                }
                Ok(Parsed::Part(wait)) => {
                    self.wait = wait;
                    break;
                }
                Err(malformed) => self.refuse(&malformed.to_string(), None, &mut actions),
            }
        }
        self.received.drain(..offset.min(self.received.len()));
        actions
    }

    /// Renders an event for a subscription; `id` is the event's id, if it has one.
    pub fn message(&mut self, name: &str, destination: &str, id: Option<&str>, body: &str) -> String {
        self.messages += 1;
        let number = format!("n-{}", self.messages);
        let length = body.len().to_string();
        let headers = [
            ("destination", destination),
            ("content-type", "application/json"),
            ("subscription", name),
            ("message-id", id.unwrap_or(&number)),
            ("content-length", &length),
        ];
        let frame = Frame { body: body.as_bytes().to_vec(), ..Frame::new("MESSAGE", &headers) };
        frame.render(self.spoken())
    }

    fn spoken(&self) -> Version {
        self.version.unwrap_or(Version::V10)
    }

    fn take(&mut self, frame: &Frame, actions: &mut Vec<Asked>) {
        match (frame.command.as_str(), self.version) {
            ("CONNECT" | "STOMP", None) => return self.connect(frame, actions),
            (_, None) => return self.refuse("connection is not open; send CONNECT first", Some(frame), actions),
            ("SUBSCRIBE", _) => {
                if let Err(reason) = self.subscribe(frame, actions) {
                    return self.refuse(reason, Some(frame), actions);
                }
            }
            ("UNSUBSCRIBE", _) => {
                if let Some(id) = frame.header("id").or(frame.header("destination")) {
                    self.names.retain(|it| it != id);
                    actions.push(Asked::Leave(id.to_owned()));
                }
            }
            // Messages from clients are ignored for compatibility; acknowledgements and transactions have no effect.
            ("SEND" | "ACK" | "NACK" | "BEGIN" | "COMMIT" | "ABORT", _) => {}
            ("DISCONNECT", _) => {}
            ("CONNECT" | "STOMP", _) => return self.refuse("connection is already open; send CONNECT only once", Some(frame), actions),
            (other, _) => return self.refuse(&format!("unknown command '{}'", shortened(other)), Some(frame), actions),
        }
        if let Some(receipt) = frame.header("receipt") {
            actions.push(Asked::Send(Frame::new("RECEIPT", &[("receipt-id", receipt)]).render(self.spoken())));
        }
        if frame.command == "DISCONNECT" {
            self.end(actions);
        }
    }

    fn connect(&mut self, frame: &Frame, actions: &mut Vec<Asked>) {
        let accepted = frame.header("accept-version").unwrap_or("1.0");
        let version = Version::ALL.into_iter().find(|it| accepted.split(',').any(|name| name.trim() == it.name()));
        let Some(version) = version else {
            let headers = [("version", "1.0,1.1,1.2"), ("message", "unsupported protocol version; accept one of the listed versions")];
            let error = Frame::new("ERROR", &headers);
            actions.push(Asked::Send(error.render(Version::V10)));
            return self.end(actions);
        };
        let mut intervals = frame.header("heart-beat").unwrap_or("0,0").split(',').map(|it| it.trim().parse::<u64>());
        let (Some(Ok(sends)), Some(Ok(wants)), None) = (intervals.next(), intervals.next(), intervals.next()) else {
            return self.refuse("invalid heart-beat header; send two numbers such as 10000,10000", Some(frame), actions);
        };
        self.version = Some(version);
        let negotiate = |theirs: u64| (theirs > 0).then(|| Duration::from_millis(theirs.max(BEAT)));
        // Tolerates network delays: the client is gone only after several missed heartbeats.
        (self.sends_every, self.gone_after) = (negotiate(wants), negotiate(sends).map(|it| it.saturating_mul(3)));
        let interval = format!("{BEAT},{BEAT}");
        let answer = Frame::new("CONNECTED", &[("version", version.name()), ("heart-beat", &interval)]);
        actions.push(Asked::Send(answer.render(version)));
    }

    fn subscribe(&mut self, frame: &Frame, actions: &mut Vec<Asked>) -> Result<(), &'static str> {
        let destination = frame.header("destination").ok_or("SUBSCRIBE has no destination header; add one")?;
        // Version 1.0 identifies subscriptions by destination.
        let of_destination = (self.version == Some(Version::V10)).then_some(destination);
        let id = frame.header("id").or(of_destination).ok_or("SUBSCRIBE has no id header; add one")?;
        if self.names.iter().any(|it| it == id) {
            return Err("SUBSCRIBE id is already in use; choose another id");
        }
        if self.names.len() >= MOST {
            return Err("too many subscriptions; open another connection");
        }
        self.names.push(id.to_owned());
        let conversation = destination.strip_prefix(&self.base).and_then(|it| it.strip_prefix('/')).and_then(uuid);
        actions.push(Asked::Listen { id: id.to_owned(), destination: destination.to_owned(), conversation });
        Ok(())
    }

    fn refuse(&mut self, reason: &str, frame: Option<&Frame>, actions: &mut Vec<Asked>) {
        let mut error = Frame::new("ERROR", &[("message", reason), ("content-type", "text/plain")]);
        if let Some(receipt) = frame.and_then(|it| it.header("receipt")) {
            error.headers.push(("receipt-id".to_owned(), receipt.to_owned()));
        }
        error.body = reason.as_bytes().to_vec();
        actions.push(Asked::Send(error.render(self.spoken())));
        self.end(actions);
    }

    fn end(&mut self, actions: &mut Vec<Asked>) {
        self.closed = true;
        actions.push(Asked::Close);
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a07";

    fn connected(accepted: &str) -> Session {
        let mut session = Session::new("/topic/audit");
        let actions = session.receive(format!("CONNECT\naccept-version:{accepted}\nheart-beat:4000,20000\n\n\0").as_bytes());
        assert!(matches!(actions.as_slice(), [Asked::Send(it)] if it.starts_with("CONNECTED\n")), "{actions:?}");
        session
    }

    fn subscribe(id: &str) -> String {
        format!("SUBSCRIBE\nid:{id}\ndestination:/topic/audit/{}\n\n\0", ID.to_uppercase())
    }

    #[track_caller]
    fn refused(actions: &[Asked], word: &str) {
        let [.., Asked::Send(error), Asked::Close] = actions else { panic!("{actions:?}") };
        assert!(error.starts_with("ERROR\n") && error.contains(word), "{error}");
    }

    #[test]
    fn both_sides_agree_on_a_version_and_on_heartbeats() {
        for (accepted, version) in [("1.2,1.1,1.0", "1.2"), ("1.0, 1.1", "1.1"), ("1.0", "1.0"), ("9.9,1.1", "1.1")] {
            let mut session = Session::new("");
            let actions = session.receive(format!("STOMP\naccept-version:{accepted}\nheart-beat:4000,20000\n\n\0").as_bytes());
            assert_eq!(actions, [Asked::Send(format!("CONNECTED\nversion:{version}\nheart-beat:10000,10000\n\n\0"))]);
            let seconds = |it| Some(Duration::from_secs(it));
            assert_eq!((session.sends_every, session.gone_after), (seconds(20), seconds(30)));
        }
        let mut session = Session::new("");
        assert!(matches!(session.receive(b"CONNECT\n\n\0").as_slice(), [Asked::Send(it)] if it.contains("version:1.0\n")));
        assert_eq!((session.sends_every, session.gone_after), (None, None));
        refused(&Session::new("").receive(b"CONNECT\naccept-version:2.0\n\n\0"), "version:1.0,1.1,1.2");
        refused(&Session::new("").receive(b"CONNECT\nheart-beat:1\n\n\0"), "heart-beat");
    }

    #[test]
    fn several_conversations_are_heard_over_one_connection() {
        let mut session = connected("1.2");
        let actions = session.receive(format!("{}\n{}", subscribe("a\\cb"), subscribe("b")).as_bytes());
        let listen = |id: &str| Asked::Listen {
            id: id.to_owned(),
            destination: format!("/topic/audit/{}", ID.to_uppercase()),
            conversation: Some(ID.to_owned()),
        };
        assert_eq!(actions, [listen("a:b"), listen("b")]);
        assert_eq!(
            session.receive(b"UNSUBSCRIBE\nid:b\nreceipt:r\\c1\n\n\0"),
            [Asked::Leave("b".to_owned()), Asked::Send("RECEIPT\nreceipt-id:r\\c1\n\n\0".to_owned())]
        );
        assert_eq!(session.receive(subscribe("b").as_bytes()), [listen("b")], "the id is free again");
        let message = session.message("a:b", "/topic/x", Some("t:1"), "{}");
        assert_eq!(
            message,
            "MESSAGE\ndestination:/topic/x\ncontent-type:application/json\nsubscription:a\\cb\nmessage-id:t\\c1\ncontent-length:2\n\n{}\0"
        );
        for (destination, id) in [("/topic/other", "x"), ("/topic/audit/1", "y"), ("/topic/audit", "z")] {
            let actions = session.receive(format!("SUBSCRIBE\nid:{id}\ndestination:{destination}\n\n\0").as_bytes());
            assert!(matches!(actions.as_slice(), [Asked::Listen { conversation: None, .. }]), "{actions:?}");
        }
    }

    #[test]
    fn an_old_client_names_subscriptions_by_their_destination() {
        let mut session = connected("1.0");
        let actions = session.receive(b"SUBSCRIBE\ndestination:/topic/x\n\n\0UNSUBSCRIBE\ndestination:/topic/x\n\n\0");
        assert!(matches!(&actions[..], [Asked::Listen { id, .. }, Asked::Leave(left)] if id == left), "{actions:?}");
    }

    #[test]
    fn what_a_client_sends_has_no_effect_but_its_receipt() {
        let mut session = connected("1.1");
        for command in ["SEND", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT"] {
            assert_eq!(session.receive(format!("{command}\n\nx\0\n").as_bytes()), []);
        }
        let actions = session.receive(b"SEND\nreceipt:1\n\nx\0\nDISCONNECT\nreceipt:2\n\n\0SEND\n\n\0");
        let receipt = |id: u8| Asked::Send(format!("RECEIPT\nreceipt-id:{id}\n\n\0"));
        assert_eq!(actions, [receipt(1), receipt(2), Asked::Close]);
        assert_eq!(session.receive(b"SEND\n\n\0"), [], "the session is closed");
    }

    #[test]
    fn what_cannot_be_understood_ends_the_connection() {
        refused(&Session::new("").receive(b"SUBSCRIBE\nid:1\ndestination:x\n\n\0"), "CONNECT first");
        for (bytes, word) in [
            (&b"CONNECT\n\n\0"[..], "once"),
            (b"JUMP\nreceipt:7\n\n\0", "receipt-id:7"),
            (b"SUBSCRIBE\nid:1\n\n\0", "destination"),
            (b"SUBSCRIBE\ndestination:x\n\n\0", "no id header"),
            (b"SUBSCRIBE\nid:1\ndestination:x\n\n\0SUBSCRIBE\nid:1\ndestination:x\n\n\0", "already in use"),
            (b"SEND\nx\n\n\0", "colon"),
        ] {
            refused(&connected("1.2").receive(bytes), word);
        }
        let mut session = connected("1.2");
        for number in 0..MOST {
            session.receive(subscribe(&number.to_string()).as_bytes());
        }
        refused(&session.receive(subscribe("more").as_bytes()), "too many");
    }
}
