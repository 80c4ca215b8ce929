//! The server side of a STOMP connection: turns client frames into actions and reply frames. Performs no I/O.

use std::time::Duration;

use convengine_host_base::uuid_text::parse_uuid;

use super::frame::{Frame, Parsed, Version, Wait, parse};

/// Minimum heartbeat interval of both sides in milliseconds.
const HEARTBEAT_MILLIS: u64 = 10_000;

/// Maximum number of subscriptions per connection.
const MAX_SUBSCRIPTIONS: usize = 64;

/// What the host must do in response to a client frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAction {
    /// Send a text to the client.
    Send(String),
    /// Subscribe to the events of a conversation.
    Subscribe {
        /// The subscription id chosen by the client.
        id: String,
        /// The destination as sent by the client.
        destination: String,
        /// The conversation as a lower-case UUID; absent if the destination has no events.
        conversation: Option<String>,
    },
    /// End a subscription by its id.
    Unsubscribe(String),
    /// Close the connection after sending everything.
    Close,
}

/// The protocol state of a connection.
#[derive(Debug)]
pub struct StompSession {
    base: String,
    version: Option<Version>,
    buffer: Vec<u8>,
    wait: Wait,
    subscription_ids: Vec<String>,
    message_count: u64,
    closed: bool,
    /// How often the server sends heartbeats, if the client requested them.
    pub heartbeat_interval: Option<Duration>,
    /// How long the client may be silent before the connection closes.
    pub client_timeout: Option<Duration>,
}

impl StompSession {
    /// Creates the state of a new connection; destinations are `base`, a slash and the conversation id.
    pub fn new(base: &str) -> StompSession {
        StompSession {
            base: base.to_owned(),
            version: None,
            buffer: Vec::new(),
            wait: Wait::Bytes(1),
            subscription_ids: Vec::new(),
            message_count: 0,
            closed: false,
            heartbeat_interval: None,
            client_timeout: None,
        }
    }

    /// Handles bytes from the client, which may contain partial frames.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<SessionAction> {
        let mut actions = Vec::new();
        if self.closed {
            return actions;
        }
        self.buffer.extend_from_slice(bytes);
        if !self.wait.is_satisfied(bytes, self.buffer.len()) {
            return actions;
        }
        let mut offset = 0;
        while !self.closed {
            match parse(self.buffer.get(offset..).unwrap_or_default(), self.effective_version()) {
                Ok(Parsed::Heartbeat(length)) => offset += length,
                Ok(Parsed::Frame(frame, length)) => {
                    offset += length;
                    self.handle_frame(&frame, &mut actions);
                }
                Ok(Parsed::Incomplete(wait)) => {
                    self.wait = wait;
                    break;
                }
                Err(malformed) => self.reject(&malformed.to_string(), None, &mut actions),
            }
        }
        self.buffer.drain(..offset.min(self.buffer.len()));
        actions
    }

    /// Renders an event for a subscription; `id` is the event's id, if it has one.
    pub fn render_message(&mut self, name: &str, destination: &str, id: Option<&str>, body: &str) -> String {
        self.message_count += 1;
        let number = format!("n-{}", self.message_count);
        let length = body.len().to_string();
        let headers = [
            ("destination", destination),
            ("content-type", "application/json"),
            ("subscription", name),
            ("message-id", id.unwrap_or(&number)),
            ("content-length", &length),
        ];
        let frame = Frame { body: body.as_bytes().to_vec(), ..Frame::new("MESSAGE", &headers) };
        frame.render(self.effective_version())
    }

    /// Renders an error, after which the connection is to be closed.
    pub fn render_error(&self, reason: &str) -> String {
        let mut error = Frame::new("ERROR", &[("message", reason), ("content-type", "text/plain")]);
        error.body = reason.as_bytes().to_vec();
        error.render(self.effective_version())
    }

    fn effective_version(&self) -> Version {
        self.version.unwrap_or(Version::V10)
    }

    fn handle_frame(&mut self, frame: &Frame, actions: &mut Vec<SessionAction>) {
        match (frame.command.as_str(), self.version) {
            ("CONNECT" | "STOMP", None) => return self.connect(frame, actions),
            (_, None) => return self.reject("connection is not open; send CONNECT first", Some(frame), actions),
            ("SUBSCRIBE", _) => {
                if let Err(reason) = self.subscribe_frame(frame, actions) {
                    return self.reject(reason, Some(frame), actions);
                }
            }
            ("UNSUBSCRIBE", _) => {
                if let Some(id) = frame.parse_header("id").or(frame.parse_header("destination")) {
                    self.subscription_ids.retain(|it| it != id);
                    actions.push(SessionAction::Unsubscribe(id.to_owned()));
                }
            }
            // Messages from clients are ignored for compatibility; acknowledgements and transactions have no effect.
            ("SEND" | "ACK" | "NACK" | "BEGIN" | "COMMIT" | "ABORT", _) => {}
            ("DISCONNECT", _) => {}
            ("CONNECT" | "STOMP", _) => return self.reject("connection is already open; send CONNECT only once", Some(frame), actions),
            (other, _) => return self.reject(&format!("unknown command '{}'", truncate(other)), Some(frame), actions),
        }
        if let Some(receipt) = frame.parse_header("receipt") {
            actions.push(SessionAction::Send(Frame::new("RECEIPT", &[("receipt-id", receipt)]).render(self.effective_version())));
        }
        if frame.command == "DISCONNECT" {
            self.close(actions);
        }
    }

    fn connect(&mut self, frame: &Frame, actions: &mut Vec<SessionAction>) {
        let accepted = frame.parse_header("accept-version").unwrap_or("1.0");
        let version = Version::ALL.into_iter().find(|version| accepted.split(',').any(|name| name.trim() == version.as_str()));
        let Some(version) = version else {
            let headers = [("version", "1.0,1.1,1.2"), ("message", "unsupported protocol version; accept one of the listed versions")];
            let error = Frame::new("ERROR", &headers);
            actions.push(SessionAction::Send(error.render(Version::V10)));
            return self.close(actions);
        };
        let mut intervals = frame.parse_header("heart-beat").unwrap_or("0,0").split(',').map(|interval| interval.trim().parse::<u64>());
        let (Some(Ok(sends)), Some(Ok(wants)), None) = (intervals.next(), intervals.next(), intervals.next()) else {
            return self.reject("invalid heart-beat header; send two numbers such as 10000,10000", Some(frame), actions);
        };
        self.version = Some(version);
        let negotiate = |theirs: u64| (theirs > 0).then(|| Duration::from_millis(theirs.max(HEARTBEAT_MILLIS)));
        // Tolerates network delays: the client is gone only after several missed heartbeats.
        (self.heartbeat_interval, self.client_timeout) = (negotiate(wants), negotiate(sends).map(|it| it.saturating_mul(3)));
        let interval = format!("{HEARTBEAT_MILLIS},{HEARTBEAT_MILLIS}");
        let answer = Frame::new("CONNECTED", &[("version", version.as_str()), ("heart-beat", &interval)]);
        actions.push(SessionAction::Send(answer.render(version)));
    }

    fn subscribe_frame(&mut self, frame: &Frame, actions: &mut Vec<SessionAction>) -> Result<(), &'static str> {
        let destination = frame.parse_header("destination").ok_or("SUBSCRIBE has no destination header; add one")?;
        // Version 1.0 identifies subscriptions by destination.
        let of_destination = (self.version == Some(Version::V10)).then_some(destination);
        let id = frame.parse_header("id").or(of_destination).ok_or("SUBSCRIBE has no id header; add one")?;
        if self.subscription_ids.iter().any(|it| it == id) {
            return Err("SUBSCRIBE id is already in use; choose another id");
        }
        if self.subscription_ids.len() >= MAX_SUBSCRIPTIONS {
            return Err("too many subscriptions; open another connection");
        }
        self.subscription_ids.push(id.to_owned());
        let conversation = destination.strip_prefix(&self.base).and_then(|it| it.strip_prefix('/')).and_then(parse_uuid);
        actions.push(SessionAction::Subscribe { id: id.to_owned(), destination: destination.to_owned(), conversation });
        Ok(())
    }

    fn reject(&mut self, reason: &str, frame: Option<&Frame>, actions: &mut Vec<SessionAction>) {
        let mut error = Frame::new("ERROR", &[("message", reason), ("content-type", "text/plain")]);
        if let Some(receipt) = frame.and_then(|it| it.parse_header("receipt")) {
            error.headers.push(("receipt-id".to_owned(), receipt.to_owned()));
        }
        error.body = reason.as_bytes().to_vec();
        actions.push(SessionAction::Send(error.render(self.effective_version())));
        self.close(actions);
    }

    fn close(&mut self, actions: &mut Vec<SessionAction>) {
        self.closed = true;
        actions.push(SessionAction::Close);
    }
}

fn truncate(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7c0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a07";

    fn connect_session(accepted: &str) -> StompSession {
        let mut session = StompSession::new("/topic/audit");
        let actions = session.receive(format!("CONNECT\naccept-version:{accepted}\nheart-beat:4000,20000\n\n\0").as_bytes());
        assert!(matches!(actions.as_slice(), [SessionAction::Send(it)] if it.starts_with("CONNECTED\n")), "{actions:?}");
        session
    }

    fn subscribe_frame(id: &str) -> String {
        format!("SUBSCRIBE\nid:{id}\ndestination:/topic/audit/{}\n\n\0", ID.to_uppercase())
    }

    #[track_caller]
    fn assert_rejected(actions: &[SessionAction], word: &str) {
        let [.., SessionAction::Send(error), SessionAction::Close] = actions else { panic!("{actions:?}") };
        assert!(error.starts_with("ERROR\n") && error.contains(word), "{error}");
    }

    #[test]
    fn both_sides_agree_on_a_version_and_on_heartbeats() {
        for (accepted, version) in [("1.2,1.1,1.0", "1.2"), ("1.0, 1.1", "1.1"), ("1.0", "1.0"), ("9.9,1.1", "1.1")] {
            let mut session = StompSession::new("");
            let actions = session.receive(format!("STOMP\naccept-version:{accepted}\nheart-beat:4000,20000\n\n\0").as_bytes());
            assert_eq!(actions, [SessionAction::Send(format!("CONNECTED\nversion:{version}\nheart-beat:10000,10000\n\n\0"))]);
            let seconds = |number| Some(Duration::from_secs(number));
            assert_eq!((session.heartbeat_interval, session.client_timeout), (seconds(20), seconds(30)));
        }
        let mut session = StompSession::new("");
        assert!(matches!(session.receive(b"CONNECT\n\n\0").as_slice(), [SessionAction::Send(it)] if it.contains("version:1.0\n")));
        assert_eq!((session.heartbeat_interval, session.client_timeout), (None, None));
        assert_rejected(&StompSession::new("").receive(b"CONNECT\naccept-version:2.0\n\n\0"), "version:1.0,1.1,1.2");
        assert_rejected(&StompSession::new("").receive(b"CONNECT\nheart-beat:1\n\n\0"), "heart-beat");
    }

    #[test]
    fn several_conversations_share_one_connection() {
        let mut session = connect_session("1.2");
        let actions = session.receive(format!("{}\n{}", subscribe_frame("a\\cb"), subscribe_frame("b")).as_bytes());
        let listen = |id: &str| SessionAction::Subscribe {
            id: id.to_owned(),
            destination: format!("/topic/audit/{}", ID.to_uppercase()),
            conversation: Some(ID.to_owned()),
        };
        assert_eq!(actions, [listen("a:b"), listen("b")]);
        assert_eq!(
            session.receive(b"UNSUBSCRIBE\nid:b\nreceipt:r\\c1\n\n\0"),
            [SessionAction::Unsubscribe("b".to_owned()), SessionAction::Send("RECEIPT\nreceipt-id:r\\c1\n\n\0".to_owned())]
        );
        assert_eq!(session.receive(subscribe_frame("b").as_bytes()), [listen("b")], "the id is free again");
        let message = session.render_message("a:b", "/topic/x", Some("t:1"), "{}");
        assert_eq!(
            message,
            "MESSAGE\ndestination:/topic/x\ncontent-type:application/json\nsubscription:a\\cb\nmessage-id:t\\c1\ncontent-length:2\n\n{}\0"
        );
        for (destination, id) in [("/topic/other", "x"), ("/topic/audit/1", "y"), ("/topic/audit", "z")] {
            let actions = session.receive(format!("SUBSCRIBE\nid:{id}\ndestination:{destination}\n\n\0").as_bytes());
            assert!(matches!(actions.as_slice(), [SessionAction::Subscribe { conversation: None, .. }]), "{actions:?}");
        }
    }

    #[test]
    fn an_old_client_names_subscriptions_by_their_destination() {
        let mut session = connect_session("1.0");
        let actions = session.receive(b"SUBSCRIBE\ndestination:/topic/x\n\n\0UNSUBSCRIBE\ndestination:/topic/x\n\n\0");
        assert!(
            matches!(&actions[..], [SessionAction::Subscribe { id, .. }, SessionAction::Unsubscribe(left)] if id == left),
            "{actions:?}"
        );
    }

    #[test]
    fn client_messages_only_produce_receipts() {
        let mut session = connect_session("1.1");
        for command in ["SEND", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT"] {
            assert_eq!(session.receive(format!("{command}\n\nx\0\n").as_bytes()), []);
        }
        let actions = session.receive(b"SEND\nreceipt:1\n\nx\0\nDISCONNECT\nreceipt:2\n\n\0SEND\n\n\0");
        let receipt = |id: u8| SessionAction::Send(format!("RECEIPT\nreceipt-id:{id}\n\n\0"));
        assert_eq!(actions, [receipt(1), receipt(2), SessionAction::Close]);
        assert_eq!(session.receive(b"SEND\n\n\0"), [], "the session is closed");
    }

    #[test]
    fn invalid_frames_close_the_connection() {
        assert_rejected(&StompSession::new("").receive(b"SUBSCRIBE\nid:1\ndestination:x\n\n\0"), "CONNECT first");
        for (bytes, word) in [
            (&b"CONNECT\n\n\0"[..], "once"),
            (b"JUMP\nreceipt:7\n\n\0", "receipt-id:7"),
            (b"SUBSCRIBE\nid:1\n\n\0", "destination"),
            (b"SUBSCRIBE\ndestination:x\n\n\0", "no id header"),
            (b"SUBSCRIBE\nid:1\ndestination:x\n\n\0SUBSCRIBE\nid:1\ndestination:x\n\n\0", "already in use"),
            (b"SEND\nx\n\n\0", "colon"),
        ] {
            assert_rejected(&connect_session("1.2").receive(bytes), word);
        }
        let mut session = connect_session("1.2");
        for number in 0..MAX_SUBSCRIPTIONS {
            session.receive(subscribe_frame(&number.to_string()).as_bytes());
        }
        assert_rejected(&session.receive(subscribe_frame("more").as_bytes()), "too many");
    }
}
