//! Blocks and buttons of messages.

use convengine_text::variable_path::VariablePath;

use super::fields::Fields;
use super::text::{FlowTemplate, LocalizedText, ValueTemplate};

/// A part of a message.
#[derive(Debug, Clone)]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: LocalizedText,
    },
    /// Buttons.
    Buttons {
        /// The text above them.
        text: Option<LocalizedText>,
        /// The buttons.
        buttons: Vec<Button>,
    },
    /// A card.
    Card(Card),
    /// A carousel of cards.
    Carousel {
        /// The cards; with `items_from`, the first is the template for each item.
        items: Vec<Card>,
        /// The variable of a list of items.
        items_from: Option<VariablePath>,
    },
    /// A list.
    List {
        /// Its title.
        title: Option<FlowTemplate>,
        /// Its entries; with `items_from`, the first is the template for each item.
        items: Vec<ListItem>,
        /// The variable of a list of items.
        items_from: Option<VariablePath>,
    },
    /// An image, audio, video or file.
    Media {
        /// `image`, `audio`, `video` or `file`.
        media: String,
        /// Its URL.
        url: FlowTemplate,
        /// Its alternative text.
        alt: Option<FlowTemplate>,
    },
    /// A block that the client renders.
    Custom {
        /// The name of its schema.
        schema: String,
        /// Its content.
        payload: ValueTemplate,
    },
}

/// A card.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its title.
    pub title: FlowTemplate,
    /// Its subtitle.
    pub subtitle: Option<FlowTemplate>,
    /// The URL of its image.
    pub image_url: Option<FlowTemplate>,
    /// Its buttons.
    pub buttons: Vec<Button>,
}

/// An entry of a list.
#[derive(Debug, Clone)]
pub struct ListItem {
    /// Its title.
    pub title: FlowTemplate,
    /// Its subtitle.
    pub subtitle: Option<FlowTemplate>,
    /// The value that selecting it sends.
    pub value: Option<ValueTemplate>,
}

/// A button.
#[derive(Debug, Clone)]
pub struct Button {
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: LocalizedText,
    /// The value that selecting it sends.
    pub value: Option<ValueTemplate>,
    /// The URL that it opens.
    pub url: Option<FlowTemplate>,
}

impl Block {
    /// Reads a block; `None` for an unknown kind.
    pub(super) fn read(fields: Fields<'_>) -> Option<Block> {
        Some(match fields.text("kind")? {
            "text" => Block::Text { text: fields.localized("text").unwrap_or_default() },
            "buttons" => Block::Buttons { text: fields.localized("text"), buttons: fields.list("buttons", Button::read) },
            "card" => Block::Card(Card::read(fields)),
            "carousel" => Block::Carousel { items: fields.list("items", Card::read), items_from: fields.parse_path("items_from") },
            "list" => Block::List {
                title: fields.template("title"),
                items: fields.list("items", ListItem::read),
                items_from: fields.parse_path("items_from"),
            },
            "media" => {
                Block::Media { media: fields.string("media"), url: fields.template("url").unwrap_or_default(), alt: fields.template("alt") }
            }
            "custom" => Block::Custom { schema: fields.string("schema"), payload: fields.json_template("payload").unwrap_or_default() },
            _ => return None,
        })
    }

    /// Returns the buttons of the block.
    pub fn buttons(&self) -> Vec<&Button> {
        match self {
            Block::Buttons { buttons, .. } | Block::Card(Card { buttons, .. }) => buttons.iter().collect(),
            Block::Carousel { items, .. } => items.iter().flat_map(|it| &it.buttons).collect(),
            Block::Text { .. } | Block::List { .. } | Block::Media { .. } | Block::Custom { .. } => Vec::new(),
        }
    }
}

impl Card {
    fn read(fields: Fields<'_>) -> Card {
        Card {
            title: fields.template("title").unwrap_or_default(),
            subtitle: fields.template("subtitle"),
            image_url: fields.template("image_url"),
            buttons: fields.list("buttons", Button::read),
        }
    }

    /// Returns the default card for an item of a list.
    pub fn default_for_item() -> Card {
        Card { title: FlowTemplate::from("{{ item.title }}".to_owned()), subtitle: None, image_url: None, buttons: Vec::new() }
    }

    /// Converts the card into a list entry.
    pub fn into_list_item(self) -> ListItem {
        ListItem { title: self.title, subtitle: self.subtitle, value: None }
    }
}

impl ListItem {
    fn read(fields: Fields<'_>) -> ListItem {
        ListItem {
            title: fields.template("title").unwrap_or_default(),
            subtitle: fields.template("subtitle"),
            value: fields.json_template("value"),
        }
    }
}

impl Button {
    pub(super) fn read(fields: Fields<'_>) -> Button {
        let label = fields.localized("label").unwrap_or_default();
        Button { id: fields.string("id"), label, value: fields.json_template("value"), url: fields.template("url") }
    }
}
