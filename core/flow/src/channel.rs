//! Capabilities of channels, and the conversion of blocks that a channel cannot show.

use serde_json::{Value, json};

/// The kinds of blocks that a channel can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChannelCapabilities {
    pub buttons: bool,
    pub carousels: bool,
    pub cards: bool,
}

/// Channels that show text only.
const TEXT_CHANNELS: [&str; 6] = ["sms", "voice", "phone", "text", "email", "ivr"];

/// Channels that show buttons and cards, but no carousels.
const BUTTON_CHANNELS: [&str; 4] = ["whatsapp", "telegram", "messenger", "slack"];

impl ChannelCapabilities {
    /// Returns the capabilities of a channel; an unknown name shows everything.
    pub fn from_name(name: &str) -> ChannelCapabilities {
        if TEXT_CHANNELS.contains(&name) {
            return ChannelCapabilities { buttons: false, carousels: false, cards: false };
        }
        ChannelCapabilities { buttons: true, carousels: !BUTTON_CHANNELS.contains(&name), cards: true }
    }

    /// Converts blocks to kinds that the channel can show.
    pub fn lower_blocks(self, blocks: Vec<Value>) -> Vec<Value> {
        blocks.into_iter().flat_map(|it| self.lower_block(it)).collect()
    }

    fn lower_block(self, block: Value) -> Vec<Value> {
        let kind = block.get("kind").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "carousel" if !self.carousels => {
                let cards = block.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
                cards.into_iter().flat_map(|card| self.lower_block(with_kind(card, "card"))).collect()
            }
            "card" if !self.cards => vec![json!({"kind": "text", "text": block_text(&block, self)})],
            "buttons" if !self.buttons => vec![json!({"kind": "text", "text": block_text(&block, self)})],
            "list" if !self.cards => vec![json!({"kind": "text", "text": block_text(&block, self)})],
            _ => vec![block],
        }
    }

    /// Numbers the buttons of all blocks when the channel has none, so that users can answer with the number.
    pub fn with_numbered_buttons(self, mut blocks: Vec<Value>) -> Vec<Value> {
        if self.buttons {
            return blocks;
        }
        let mut number = 0;
        for block in &mut blocks {
            number_block_buttons(block, &mut number);
            for item in block.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
                number_block_buttons(item, &mut number);
            }
        }
        blocks
    }

    /// Renders blocks as plain text, one line each.
    pub fn plain_text(self, blocks: &[Value]) -> String {
        let texts: Vec<String> = blocks.iter().map(|it| block_text(it, self)).filter(|it| !it.is_empty()).collect();
        texts.join("\n")
    }
}

fn number_block_buttons(block: &mut Value, number: &mut u64) {
    for button in block.get_mut("buttons").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        *number += 1;
        button.insert("number".to_owned(), json!(*number));
    }
}

fn with_kind(mut block: Value, kind: &str) -> Value {
    if let Some(block) = block.as_object_mut() {
        block.insert("kind".to_owned(), json!(kind));
    }
    block
}

fn block_text(block: &Value, channel: ChannelCapabilities) -> String {
    let member = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let items = |name: &str| block.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut lines = match member("kind").as_str() {
        "text" => vec![member("text")],
        "buttons" => vec![member("text")],
        "card" => vec![member("title"), member("subtitle")],
        "carousel" => items("items").iter().map(|card| block_text(&with_kind(card.clone(), "card"), channel)).collect(),
        "list" => {
            let entry = |item: &Value| {
                let part = |name: &str| item.get(name).and_then(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned);
                let words: Vec<String> = [part("title"), part("subtitle")].into_iter().flatten().collect();
                format!("- {}", words.join(": "))
            };
            [member("title")].into_iter().chain(items("items").iter().map(entry)).collect()
        }
        "media" => vec![if member("alt").is_empty() { member("url") } else { member("alt") }],
        _ => Vec::new(),
    };
    if !channel.buttons {
        let label = |button: &Value| button.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |button: &Value| button.get("number").and_then(Value::as_u64).unwrap_or_default();
        lines.extend(items("buttons").iter().map(|button| format!("{}. {}", number(button), label(button))));
    }
    lines.retain(|it| !it.is_empty());
    lines.join("\n")
}
