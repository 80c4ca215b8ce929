//! The server's side of a STOMP connection: what a client's frames ask for, and the frames that answer.

use std::time::Duration;

use super::frame::{Frame, Parsed, Version, Wait, parse};
use crate::http::request::uuid;

/// How often each side is heard from at least, when the other side wants that.
const BEAT: u64 = 10_000;

/// Most subscriptions of a connection.
const MOST: usize = 64;

/// What a client's frame asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A text to send.
    Send(String),
    /// Events of a conversation, under the client's name for them.
    Listen {
        /// The client's name.
        id: String,
        /// As the client wrote it.
        destination: String,
        /// The conversation, a UUID in lower case; there are no events of anything else.
        conversation: Option<String>,
    },
    /// No more of these events.
    Leave(String),
    /// The end of the connection, once all is sent.
    Close,
}

/// A connection.
#[derive(Debug)]
pub struct Session {
    base: String,
    version: Option<Version>,
    received: Vec<u8>,
    wait: Wait,
    names: Vec<String>,
    messages: u64,
    closed: bool,
    /// How often the client wants to hear something.
    pub sends_every: Option<Duration>,
    /// After how much silence the client is gone.
    pub gone_after: Option<Duration>,
}

impl Session {
    /// A connection; destinations are a conversation behind `base` and a slash.
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

    /// Takes what the client sends, in whatever pieces it comes.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Asked> {
        let mut asked = Vec::new();
        if self.closed {
            return asked;
        }
        self.received.extend_from_slice(bytes);
        if !self.wait.is_over(bytes, self.received.len()) {
            return asked;
        }
        let mut at = 0;
        while !self.closed {
            match parse(self.received.get(at..).unwrap_or_default(), self.spoken()) {
                Ok(Parsed::Beat(length)) => at += length,
                Ok(Parsed::Frame(frame, length)) => {
                    at += length;
                    self.take(&frame, &mut asked);
                }
                Ok(Parsed::Part(wait)) => {
                    self.wait = wait;
                    break;
                }
                Err(malformed) => self.refuse(&malformed.to_string(), None, &mut asked),
            }
        }
        self.received.drain(..at.min(self.received.len()));
        asked
    }

    /// An event for one who listens; `id` is the event's own, when it has one.
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

    fn take(&mut self, frame: &Frame, asked: &mut Vec<Asked>) {
        match (frame.command.as_str(), self.version) {
            ("CONNECT" | "STOMP", None) => return self.connect(frame, asked),
            (_, None) => return self.refuse("the connection is not open yet: send CONNECT first", Some(frame), asked),
            ("SUBSCRIBE", _) => {
                if let Err(reason) = self.subscribe(frame, asked) {
                    return self.refuse(reason, Some(frame), asked);
                }
            }
            ("UNSUBSCRIBE", _) => {
                if let Some(id) = frame.header("id").or(frame.header("destination")) {
                    self.names.retain(|it| it != id);
                    asked.push(Asked::Leave(id.to_owned()));
                }
            }
            // Nobody reads what clients send, as with the original; and nothing is acknowledged or taken back.
            ("SEND" | "ACK" | "NACK" | "BEGIN" | "COMMIT" | "ABORT", _) => {}
            ("DISCONNECT", _) => {}
            ("CONNECT" | "STOMP", _) => return self.refuse("the connection is open already: send CONNECT once", Some(frame), asked),
            (other, _) => return self.refuse(&format!("the command '{}' is not known", shortened(other)), Some(frame), asked),
        }
        if let Some(receipt) = frame.header("receipt") {
            asked.push(Asked::Send(Frame::new("RECEIPT", &[("receipt-id", receipt)]).render(self.spoken())));
        }
        if frame.command == "DISCONNECT" {
            self.end(asked);
        }
    }

    fn connect(&mut self, frame: &Frame, asked: &mut Vec<Asked>) {
        let accepted = frame.header("accept-version").unwrap_or("1.0");
        let version = Version::ALL.into_iter().find(|it| accepted.split(',').any(|name| name.trim() == it.name()));
        let Some(version) = version else {
            let headers = [("version", "1.0,1.1,1.2"), ("message", "no version of the client is known: accept one of these")];
            let error = Frame::new("ERROR", &headers);
            asked.push(Asked::Send(error.render(Version::V10)));
            return self.end(asked);
        };
        let mut beats = frame.header("heart-beat").unwrap_or("0,0").split(',').map(|it| it.trim().parse::<u64>());
        let (Some(Ok(sends)), Some(Ok(wants)), None) = (beats.next(), beats.next(), beats.next()) else {
            return self.refuse("heart-beat is not understood: send two numbers such as 10000,10000", Some(frame), asked);
        };
        self.version = Some(version);
        let agreed = |theirs: u64| (theirs > 0).then(|| Duration::from_millis(theirs.max(BEAT)));
        // A client is late when the network is; only one that misses several is gone.
        (self.sends_every, self.gone_after) = (agreed(wants), agreed(sends).map(|it| it.saturating_mul(3)));
        let beat = format!("{BEAT},{BEAT}");
        let answer = Frame::new("CONNECTED", &[("version", version.name()), ("heart-beat", &beat)]);
        asked.push(Asked::Send(answer.render(version)));
    }

    fn subscribe(&mut self, frame: &Frame, asked: &mut Vec<Asked>) -> Result<(), &'static str> {
        let destination = frame.header("destination").ok_or("SUBSCRIBE has no destination: send one")?;
        // 1.0 names subscriptions by what they are of.
        let of_destination = (self.version == Some(Version::V10)).then_some(destination);
        let id = frame.header("id").or(of_destination).ok_or("SUBSCRIBE has no id: send one")?;
        if self.names.iter().any(|it| it == id) {
            return Err("the id of SUBSCRIBE is used already: send another one");
        }
        if self.names.len() >= MOST {
            return Err("there are too many subscriptions: open another connection");
        }
        self.names.push(id.to_owned());
        let conversation = destination.strip_prefix(&self.base).and_then(|it| it.strip_prefix('/')).and_then(uuid);
        asked.push(Asked::Listen { id: id.to_owned(), destination: destination.to_owned(), conversation });
        Ok(())
    }

    fn refuse(&mut self, reason: &str, frame: Option<&Frame>, asked: &mut Vec<Asked>) {
        let mut error = Frame::new("ERROR", &[("message", reason), ("content-type", "text/plain")]);
        if let Some(receipt) = frame.and_then(|it| it.header("receipt")) {
            error.headers.push(("receipt-id".to_owned(), receipt.to_owned()));
        }
        error.body = reason.as_bytes().to_vec();
        asked.push(Asked::Send(error.render(self.spoken())));
        self.end(asked);
    }

    fn end(&mut self, asked: &mut Vec<Asked>) {
        self.closed = true;
        asked.push(Asked::Close);
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
        let asked = session.receive(format!("CONNECT\naccept-version:{accepted}\nheart-beat:4000,20000\n\n\0").as_bytes());
        assert!(matches!(asked.as_slice(), [Asked::Send(it)] if it.starts_with("CONNECTED\n")), "{asked:?}");
        session
    }

    fn subscribe(id: &str) -> String {
        format!("SUBSCRIBE\nid:{id}\ndestination:/topic/audit/{}\n\n\0", ID.to_uppercase())
    }

    #[track_caller]
    fn refused(asked: &[Asked], word: &str) {
        let [.., Asked::Send(error), Asked::Close] = asked else { panic!("{asked:?}") };
        assert!(error.starts_with("ERROR\n") && error.contains(word), "{error}");
    }

    #[test]
    fn both_sides_agree_on_a_version_and_on_heartbeats() {
        for (accepted, version) in [("1.2,1.1,1.0", "1.2"), ("1.0, 1.1", "1.1"), ("1.0", "1.0"), ("9.9,1.1", "1.1")] {
            let mut session = Session::new("");
            let asked = session.receive(format!("STOMP\naccept-version:{accepted}\nheart-beat:4000,20000\n\n\0").as_bytes());
            assert_eq!(asked, [Asked::Send(format!("CONNECTED\nversion:{version}\nheart-beat:10000,10000\n\n\0"))]);
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
        let asked = session.receive(format!("{}\n{}", subscribe("a\\cb"), subscribe("b")).as_bytes());
        let listen = |id: &str| Asked::Listen {
            id: id.to_owned(),
            destination: format!("/topic/audit/{}", ID.to_uppercase()),
            conversation: Some(ID.to_owned()),
        };
        assert_eq!(asked, [listen("a:b"), listen("b")]);
        assert_eq!(
            session.receive(b"UNSUBSCRIBE\nid:b\nreceipt:r\\c1\n\n\0"),
            [Asked::Leave("b".to_owned()), Asked::Send("RECEIPT\nreceipt-id:r\\c1\n\n\0".to_owned())]
        );
        assert_eq!(session.receive(subscribe("b").as_bytes()), [listen("b")], "it is free again");
        let message = session.message("a:b", "/topic/x", Some("t:1"), "{}");
        assert_eq!(
            message,
            "MESSAGE\ndestination:/topic/x\ncontent-type:application/json\nsubscription:a\\cb\nmessage-id:t\\c1\ncontent-length:2\n\n{}\0"
        );
        for (destination, id) in [("/topic/other", "x"), ("/topic/audit/1", "y"), ("/topic/audit", "z")] {
            let asked = session.receive(format!("SUBSCRIBE\nid:{id}\ndestination:{destination}\n\n\0").as_bytes());
            assert!(matches!(asked.as_slice(), [Asked::Listen { conversation: None, .. }]), "{asked:?}");
        }
    }

    #[test]
    fn an_old_client_names_subscriptions_by_their_destination() {
        let mut session = connected("1.0");
        let asked = session.receive(b"SUBSCRIBE\ndestination:/topic/x\n\n\0UNSUBSCRIBE\ndestination:/topic/x\n\n\0");
        assert!(matches!(&asked[..], [Asked::Listen { id, .. }, Asked::Leave(left)] if id == left), "{asked:?}");
    }

    #[test]
    fn what_a_client_sends_has_no_effect_but_its_receipt() {
        let mut session = connected("1.1");
        for command in ["SEND", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT"] {
            assert_eq!(session.receive(format!("{command}\n\nx\0\n").as_bytes()), []);
        }
        let asked = session.receive(b"SEND\nreceipt:1\n\nx\0\nDISCONNECT\nreceipt:2\n\n\0SEND\n\n\0");
        let receipt = |id: u8| Asked::Send(format!("RECEIPT\nreceipt-id:{id}\n\n\0"));
        assert_eq!(asked, [receipt(1), receipt(2), Asked::Close]);
        assert_eq!(session.receive(b"SEND\n\n\0"), [], "it is over");
    }

    #[test]
    fn what_cannot_be_understood_ends_the_connection() {
        refused(&Session::new("").receive(b"SUBSCRIBE\nid:1\ndestination:x\n\n\0"), "CONNECT first");
        for (bytes, word) in [
            (&b"CONNECT\n\n\0"[..], "once"),
            (b"JUMP\nreceipt:7\n\n\0", "receipt-id:7"),
            (b"SUBSCRIBE\nid:1\n\n\0", "destination"),
            (b"SUBSCRIBE\ndestination:x\n\n\0", "no id"),
            (b"SUBSCRIBE\nid:1\ndestination:x\n\n\0SUBSCRIBE\nid:1\ndestination:x\n\n\0", "used already"),
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
