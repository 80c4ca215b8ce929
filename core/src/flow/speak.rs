//! Renders messages, converts their blocks for the channel and publishes them (docs/spec/flows.md#4.3).

use serde_json::{Value, json};

use super::Walk;
use super::channel::Channel;
use crate::config::flow::document::{Block, Button, Card, LocalizedText, MessageData, Selection, Template};
use crate::flow::state::Said;
use crate::turn::{Map, NoticeBody};

/// Maximum entries of the history.
const HISTORY: usize = 50;

/// Maximum characters of a history entry.
const REMEMBERED: usize = 500;

/// Maximum bytes of the blocks of a message.
const LARGEST: usize = 32 * 1024;

/// Stop reason: a message exceeds the limit.
pub(super) const TOO_LARGE: &str = "message_too_large";

/// Sent when the document has no error message.
const ERROR_MESSAGE: &str = "Something went wrong. Please try again.";

impl Walk<'_> {
    /// Sends a localized text, unless it is empty.
    pub(super) fn say(&mut self, text: &LocalizedText, place: &str) {
        let text = self.localized(text, Selection::First, place);
        if !text.is_empty() {
            self.emit(vec![json!({"kind": "text", "text": text})], None);
        }
    }

    /// Sends a text as it is, unless it is blank.
    pub(super) fn say_plain(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.emit(vec![json!({"kind": "text", "text": text})], None);
        }
    }

    /// Sends the document's error message, or the default one.
    pub(super) fn say_error(&mut self) {
        let before = self.said.len();
        if let Some(text) = self.settings().error_message.as_ref() {
            self.say(text, "settings");
        }
        if self.said.len() == before {
            self.say_plain(ERROR_MESSAGE);
        }
    }

    /// Sends a question with buttons. Returns the rendered buttons.
    pub(super) fn ask(&mut self, text: &LocalizedText, buttons: &[Button], place: &str) -> Vec<Value> {
        let text = self.localized(text, Selection::First, place);
        let options: Vec<Value> = buttons.iter().map(|it| self.button(it, &Map::new())).collect();
        let block = match options.is_empty() {
            true if text.is_empty() => return options,
            true => json!({"kind": "text", "text": text}),
            false => json!({"kind": "buttons", "text": text, "buttons": options}),
        };
        self.emit(vec![block], None);
        options
    }

    /// Sends a message. Returns its rendered buttons.
    pub(super) fn say_message(&mut self, data: &MessageData, place: &str) -> Vec<Value> {
        if data.selection == Selection::Sequence {
            *self.state.counters.sequence.entry(place.to_owned()).or_default() += 1;
        }
        let blocks: Vec<Value> = data.blocks.iter().map(|it| self.block(it, data.selection, place)).collect();
        let buttons = |it: &Value| it.get("buttons").and_then(Value::as_array).cloned().unwrap_or_default();
        let of_cards = |it: &Value| it.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut options = Vec::new();
        for block in &blocks {
            options.extend(buttons(block));
            of_cards(block).iter().for_each(|it| options.extend(buttons(it)));
        }
        self.emit(blocks, data.typing_ms);
        options
    }

    fn block(&mut self, block: &Block, selection: Selection, place: &str) -> Value {
        match block {
            Block::Text { text } => json!({"kind": "text", "text": self.localized(text, selection, place)}),
            Block::Buttons { text, buttons } => {
                let text = text.as_ref().map(|it| self.localized(it, selection, place)).unwrap_or_default();
                let buttons: Vec<Value> = buttons.iter().map(|it| self.button(it, &Map::new())).collect();
                json!({"kind": "buttons", "text": text, "buttons": buttons})
            }
            Block::Card(card) => {
                let mut shown = self.card(card, &Map::new());
                shown.insert("kind".to_owned(), json!("card"));
                Value::Object(shown)
            }
            Block::Carousel { items, items_from } => {
                let cards: Vec<Value> = match items_from {
                    None => items.iter().map(|it| Value::Object(self.card(it, &Map::new()))).collect(),
                    Some(path) => {
                        let elements = self.elements(path, items.is_empty());
                        let form = items.first().cloned().unwrap_or_else(Card::of_item);
                        elements.iter().map(|extra| Value::Object(self.card(&form, extra))).collect()
                    }
                };
                json!({"kind": "carousel", "items": cards})
            }
            Block::List { title, items, items_from } => {
                let title = title.as_ref().map(|it| self.text(it));
                let items: Vec<Value> = match items_from {
                    None => items.iter().map(|it| self.list_item(it, &Map::new())).collect(),
                    Some(path) => {
                        let elements = self.elements(path, items.is_empty());
                        let form = items.first().cloned().unwrap_or_else(|| Card::of_item().into_item());
                        elements.iter().map(|extra| self.list_item(&form, extra)).collect()
                    }
                };
                with(json!({"kind": "list", "items": items}), "title", title)
            }
            Block::Media { media, url, alt } => {
                let (url, alt) = (self.address(url, Map::new()), alt.as_ref().map(|it| self.text(it)));
                with(json!({"kind": "media", "media": media, "url": url}), "alt", alt)
            }
            Block::Custom { schema, payload } => {
                json!({"kind": "custom", "schema": schema, "payload": self.filled(payload, Map::new())})
            }
        }
    }

    /// The extra roots of each list element; `titled` converts elements that are not objects to `{title}`.
    fn elements(&self, path: &crate::text::path::Path, titled: bool) -> Vec<Map> {
        let items = self.variable(path).and_then(Value::as_array).cloned().unwrap_or_default();
        let shown = |item: Value| if titled && !item.is_object() { json!({"title": item}) } else { item };
        let extra = |(at, item): (usize, Value)| Map::from_iter([("item".to_owned(), shown(item)), ("index".to_owned(), json!(at))]);
        items.into_iter().take(50).enumerate().map(extra).collect()
    }

    fn card(&mut self, card: &Card, extra: &Map) -> Map {
        let mut shown = Map::new();
        shown.insert("title".to_owned(), json!(self.text_with(&card.title, extra.clone())));
        if let Some(subtitle) = &card.subtitle {
            shown.insert("subtitle".to_owned(), json!(self.text_with(subtitle, extra.clone())));
        }
        if let Some(url) = &card.image_url {
            shown.insert("image_url".to_owned(), json!(self.address(url, extra.clone())));
        }
        if !card.buttons.is_empty() {
            let buttons: Vec<Value> = card.buttons.iter().map(|it| self.button(it, extra)).collect();
            shown.insert("buttons".to_owned(), Value::Array(buttons));
        }
        shown
    }

    fn list_item(&mut self, item: &crate::config::flow::document::ListItem, extra: &Map) -> Value {
        let shown = json!({"title": self.text_with(&item.title, extra.clone())});
        let subtitle = item.subtitle.as_ref().map(|it| self.text_with(it, extra.clone()));
        let value = item.value.as_ref().map(|it| self.filled(it, extra.clone()));
        with(with(shown, "subtitle", subtitle), "value", value)
    }

    fn button(&mut self, button: &Button, extra: &Map) -> Value {
        let shown = json!({"id": button.id, "label": self.text_with(&button.label, extra.clone())});
        let url = button.url.as_ref().map(|it: &Template| self.address(it, extra.clone()));
        let value = button.value.as_ref().map(|it| self.filled(it, extra.clone()));
        with(with(shown, "value", value), "url", url)
    }

    /// Publishes a message and appends it to the history.
    pub(super) fn emit(&mut self, blocks: Vec<Value>, typing_ms: Option<u64>) {
        let channel = Channel::of(&self.state.channel);
        let blocks = channel.lowered(channel.numbered(blocks));
        let text = channel.text(&blocks);
        let mut message = json!({
            "id": format!("{}.{}", self.number, self.said.len() + 1),
            "node": self.frame().map(|it| it.node.clone()),
            "text": text,
            "blocks": blocks,
            "locale": self.state.locale,
            "final": true,
            "role": "bot",
        });
        if let (Some(ms), Some(message)) = (typing_ms, message.as_object_mut()) {
            message.insert("typing_ms".to_owned(), json!(ms));
        }
        // Only blocks are measured: they contain the text.
        let bytes = message.get("blocks").and_then(crate::json::length).unwrap_or_default();
        if bytes > LARGEST {
            self.warn(TOO_LARGE, json!({"bytes": bytes}));
            self.oversized = true;
            return;
        }
        self.door.notice(NoticeBody::Message { message: message.clone() });
        self.said.push(message);
        self.remember("bot", text);
    }

    /// Appends an entry to the history.
    pub(super) fn remember(&mut self, role: &str, text: String) {
        let turn = self.state.turn;
        let text = if self.flow.redacted().is_empty() { text } else { self.redactions().text(&text) };
        // Entries are cut to keep the session small; the call log has full texts.
        let end = text.char_indices().nth(REMEMBERED).map_or(text.len(), |it| it.0);
        let text = text.get(..end).unwrap_or_default().to_owned();
        self.state.history.push(Said { role: role.to_owned(), text, turn });
        let spare = self.state.history.len().saturating_sub(HISTORY);
        self.state.history.drain(..spare);
    }
}

fn with(mut value: Value, name: &str, member: Option<impl Into<Value>>) -> Value {
    if let (Some(member), Some(value)) = (member, value.as_object_mut()) {
        value.insert(name.to_owned(), member.into());
    }
    value
}
