//! Renders messages, converts their blocks for the channel and publishes them (docs/spec/flows.md#4.3); words what the engine itself says
//! (docs/spec/flows.md#3.1).

use convengine_config::flow::document::{Block, Button, Card, FlowTemplate, LocalizedText, MessageData, Selection};
use convengine_text::locale::{EngineText, engine_texts, find_engine_texts, insert_values};
use convengine_turn::{Map, NoticeBody};
use serde_json::{Value, json};

use super::channel::ChannelCapabilities;
use super::state::HistoryEntry;
use super::trace::with_member;
use super::turn::Turn;

/// Maximum entries of the history.
const MAX_HISTORY: usize = 50;

/// Maximum characters of a history entry.
const MAX_HISTORY_CHARS: usize = 500;

/// Maximum bytes of the blocks of a message.
const MAX_BLOCKS_BYTES: usize = 32 * 1024;

/// Stop reason: a message exceeds the limit.
pub(super) const MESSAGE_TOO_LARGE: &str = "message_too_large";

impl Turn<'_> {
    /// Sends a localized text, unless it is empty.
    pub(super) fn send_localized(&mut self, text: &LocalizedText, place: &str) {
        let text = self.render_localized(text, Selection::First, place);
        if !text.is_empty() {
            self.publish_message(vec![json!({"kind": "text", "text": text})], None);
        }
    }

    /// Sends a text as it is, unless it is blank.
    pub(super) fn send_text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.publish_message(vec![json!({"kind": "text", "text": text})], None);
        }
    }

    /// Words a text of the engine. Each value replaces its name in braces.
    pub(super) fn engine_text(&mut self, text: EngineText, values: &[(&str, &str)]) -> String {
        let flow = self.flow;
        let localized = flow.document.engine_text(text).and_then(|variants| {
            let first_variant = |locale: &str| variants.variants_of_locale(&self.state.channel, locale).first();
            // A language that the engine speaks is better than the default locale of the document.
            let is_engine_language = find_engine_texts(&self.state.locale).is_some();
            first_variant(&self.state.locale)
                .or_else(|| if is_engine_language { None } else { first_variant(&flow.document.default_locale) })
        });
        let own_text = localized.map(|it| self.render_text(it)).filter(|wording| !wording.trim().is_empty());
        let built_in = || engine_texts([&self.state.locale, &flow.document.default_locale]).get(text).to_owned();
        insert_values(&own_text.unwrap_or_else(built_in), values)
    }

    /// Sends a text of the engine.
    pub(super) fn say(&mut self, text: EngineText, values: &[(&str, &str)]) {
        let text = self.engine_text(text, values);
        self.send_text(&text);
    }

    /// Sends the document's error message, or that of the engine.
    pub(super) fn send_error(&mut self) {
        let before = self.record.messages.len();
        if let Some(text) = self.settings().error_message.as_ref() {
            self.send_localized(text, "settings");
        }
        if self.record.messages.len() == before {
            self.say(EngineText::Error, &[]);
        }
    }

    /// Sends a question with buttons. Returns the rendered buttons.
    pub(super) fn send_question(&mut self, text: &LocalizedText, buttons: &[Button], place: &str) -> Vec<Value> {
        let text = self.render_localized(text, Selection::First, place);
        let options: Vec<Value> = buttons.iter().map(|button| self.render_button(button, &Map::new())).collect();
        let block = match options.is_empty() {
            true if text.is_empty() => return options,
            true => json!({"kind": "text", "text": text}),
            false => json!({"kind": "buttons", "text": text, "buttons": options}),
        };
        self.publish_message(vec![block], None);
        options
    }

    /// Sends a text with buttons that are not in the document.
    pub(super) fn send_with_options(&mut self, text: &str, options: &[Value]) -> Vec<Value> {
        self.publish_message(vec![json!({"kind": "buttons", "text": text, "buttons": options})], None);
        options.to_vec()
    }

    /// Sends a message. Returns its rendered buttons.
    pub(super) fn send_message(&mut self, data: &MessageData, place: &str) -> Vec<Value> {
        if data.selection == Selection::Sequence {
            *self.state.counters.sequence.entry(place.to_owned()).or_default() += 1;
        }
        let blocks: Vec<Value> = data.blocks.iter().map(|it| self.render_block(it, data.selection, place)).collect();
        let buttons = |block: &Value| block.get("buttons").and_then(Value::as_array).cloned().unwrap_or_default();
        let cards = |block: &Value| block.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut options = Vec::new();
        for block in &blocks {
            options.extend(buttons(block));
            for card in cards(block) {
                options.extend(buttons(&card));
            }
        }
        self.publish_message(blocks, data.typing_ms);
        options
    }

    fn render_block(&mut self, block: &Block, selection: Selection, place: &str) -> Value {
        match block {
            Block::Text { text } => json!({"kind": "text", "text": self.render_localized(text, selection, place)}),
            Block::Buttons { text, buttons } => {
                let text = text.as_ref().map(|it| self.render_localized(it, selection, place)).unwrap_or_default();
                let buttons: Vec<Value> = buttons.iter().map(|button| self.render_button(button, &Map::new())).collect();
                json!({"kind": "buttons", "text": text, "buttons": buttons})
            }
            Block::Card(card) => {
                let mut members = self.render_card(card, &Map::new());
                members.insert("kind".to_owned(), json!("card"));
                Value::Object(members)
            }
            Block::Carousel { items, items_from } => {
                let cards: Vec<Value> = match items_from {
                    None => items.iter().map(|card| Value::Object(self.render_card(card, &Map::new()))).collect(),
                    Some(path) => {
                        let elements = self.list_element_roots(path, items.is_empty());
                        let template = items.first().cloned().unwrap_or_else(Card::default_for_item);
                        elements.iter().map(|extra| Value::Object(self.render_card(&template, extra))).collect()
                    }
                };
                json!({"kind": "carousel", "items": cards})
            }
            Block::List { title, items, items_from } => {
                let title = title.as_ref().map(|it| self.render_text(it));
                let items: Vec<Value> = match items_from {
                    None => items.iter().map(|item| self.render_list_item(item, &Map::new())).collect(),
                    Some(path) => {
                        let elements = self.list_element_roots(path, items.is_empty());
                        let template = items.first().cloned().unwrap_or_else(|| Card::default_for_item().into_list_item());
                        elements.iter().map(|extra| self.render_list_item(&template, extra)).collect()
                    }
                };
                with_member(json!({"kind": "list", "items": items}), "title", title)
            }
            Block::Media { media, url, alt } => {
                let (url, alt) = (self.render_url(url, Map::new()), alt.as_ref().map(|it| self.render_text(it)));
                with_member(json!({"kind": "media", "media": media, "url": url}), "alt", alt)
            }
            Block::Custom { schema, payload } => {
                json!({"kind": "custom", "schema": schema, "payload": self.render_json(payload, Map::new())})
            }
        }
    }

    /// The extra roots of each list element; `is_titled` converts elements that are not objects to `{title}`.
    fn list_element_roots(&self, path: &convengine_text::variable_path::VariablePath, is_titled: bool) -> Vec<Map> {
        let items = self.state.variable(path).and_then(Value::as_array).cloned().unwrap_or_default();
        let to_root = |item: Value| if is_titled && !item.is_object() { json!({"title": item}) } else { item };
        let roots = |(at, item): (usize, Value)| Map::from_iter([("item".to_owned(), to_root(item)), ("index".to_owned(), json!(at))]);
        items.into_iter().take(50).enumerate().map(roots).collect()
    }

    fn render_card(&mut self, card: &Card, extra: &Map) -> Map {
        let mut members = Map::new();
        members.insert("title".to_owned(), json!(self.render_text_with(&card.title, extra.clone())));
        if let Some(subtitle) = &card.subtitle {
            members.insert("subtitle".to_owned(), json!(self.render_text_with(subtitle, extra.clone())));
        }
        if let Some(url) = &card.image_url {
            members.insert("image_url".to_owned(), json!(self.render_url(url, extra.clone())));
        }
        if !card.buttons.is_empty() {
            let buttons: Vec<Value> = card.buttons.iter().map(|it| self.render_button(it, extra)).collect();
            members.insert("buttons".to_owned(), Value::Array(buttons));
        }
        members
    }

    fn render_list_item(&mut self, item: &convengine_config::flow::document::ListItem, extra: &Map) -> Value {
        let rendered = json!({"title": self.render_text_with(&item.title, extra.clone())});
        let subtitle = item.subtitle.as_ref().map(|template| self.render_text_with(template, extra.clone()));
        let value = item.value.as_ref().map(|template| self.render_json(template, extra.clone()));
        with_member(with_member(rendered, "subtitle", subtitle), "value", value)
    }

    fn render_button(&mut self, button: &Button, extra: &Map) -> Value {
        let rendered = json!({"id": button.id, "label": self.render_label(&button.label, extra)});
        let url = button.url.as_ref().map(|template: &FlowTemplate| self.render_url(template, extra.clone()));
        let value = button.value.as_ref().map(|template| self.render_json(template, extra.clone()));
        with_member(with_member(rendered, "value", value), "url", url)
    }

    /// Publishes a message of a person at the desk.
    pub(super) fn publish_human_message(&mut self, text: &str, author: Option<String>) {
        let mut message = self.render_message(vec![json!({"kind": "text", "text": text})]);
        message.insert("role".to_owned(), json!("human"));
        if let Some(author) = &author {
            message.insert("author".to_owned(), json!(author));
        }
        self.publish_rendered(Value::Object(message), "human", author);
    }

    /// Publishes a message and appends it to the history.
    pub(super) fn publish_message(&mut self, blocks: Vec<Value>, typing_ms: Option<u64>) {
        let mut message = self.render_message(blocks);
        if let Some(ms) = typing_ms {
            message.insert("typing_ms".to_owned(), json!(ms));
        }
        self.publish_rendered(Value::Object(message), "bot", None);
    }

    /// Converts blocks for the channel.
    fn render_message(&self, blocks: Vec<Value>) -> Map {
        let channel = ChannelCapabilities::from_name(&self.state.channel);
        let blocks = channel.lower_blocks(channel.with_numbered_buttons(blocks));
        let text = channel.plain_text(&blocks);
        convengine_text::json::into_members(json!({
            "id": format!("{}.{}", self.event_number, self.record.messages.len() + 1),
            "node": self.state.frame().map(|it| it.node.clone()),
            "text": text,
            "blocks": blocks,
            "locale": self.state.locale,
            "final": true,
            "role": "bot",
        }))
    }

    fn publish_rendered(&mut self, message: Value, role: &str, author: Option<String>) {
        // Only blocks are measured: they contain the text.
        let bytes = message.get("blocks").and_then(convengine_text::json::serialized_length).unwrap_or_default();
        if bytes > MAX_BLOCKS_BYTES {
            self.warn(MESSAGE_TOO_LARGE, json!({"bytes": bytes}));
            self.record.is_oversized = true;
            return;
        }
        self.effects.publish(NoticeBody::Message { message: message.clone() });
        let text = message.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.record.messages.push(message);
        self.append_entry(role, text, author);
    }

    /// Appends an entry to the history.
    pub(super) fn append_history(&mut self, role: &str, text: String) {
        self.append_entry(role, text, None);
    }

    fn append_entry(&mut self, role: &str, text: String, author: Option<String>) {
        let turn = self.state.turn;
        let text = self.redact_outgoing(text);
        // Entries are cut to keep the session small; the call log has full texts.
        let end = text.char_indices().nth(MAX_HISTORY_CHARS).map_or(text.len(), |it| it.0);
        let text = text.get(..end).unwrap_or_default().to_owned();
        self.state.history.push(HistoryEntry { role: role.to_owned(), text, author, turn });
        let excess = self.state.history.len().saturating_sub(MAX_HISTORY);
        self.state.history.drain(..excess);
    }
}
