//! Blocks and buttons of messages.

use super::read::Of;
use super::text::{Filling, LocalizedText, Template};
use crate::text::path::Path;

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
        items_from: Option<Path>,
    },
    /// A list.
    List {
        /// Its title.
        title: Option<Template>,
        /// Its entries; with `items_from`, the first is the template for each item.
        items: Vec<ListItem>,
        /// The variable of a list of items.
        items_from: Option<Path>,
    },
    /// An image, audio, video or file.
    Media {
        /// `image`, `audio`, `video` or `file`.
        media: String,
        /// Its URL.
        url: Template,
        /// Its alternative text.
        alt: Option<Template>,
    },
    /// A block that the client renders.
    Custom {
        /// The name of its schema.
        schema: String,
        /// Its content.
        payload: Filling,
    },
}

/// A card.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its title.
    pub title: Template,
    /// Its subtitle.
    pub subtitle: Option<Template>,
    /// The URL of its image.
    pub image_url: Option<Template>,
    /// Its buttons.
    pub buttons: Vec<Button>,
}

/// An entry of a list.
#[derive(Debug, Clone)]
pub struct ListItem {
    /// Its title.
    pub title: Template,
    /// Its subtitle.
    pub subtitle: Option<Template>,
    /// The value that selecting it sends.
    pub value: Option<Filling>,
}

/// A button.
#[derive(Debug, Clone)]
pub struct Button {
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: Template,
    /// The value that selecting it sends.
    pub value: Option<Filling>,
    /// The URL that it opens.
    pub url: Option<Template>,
}

impl Block {
    /// Reads a block; `None` for an unknown kind.
    pub(super) fn read(fields: Of<'_>) -> Option<Block> {
        Some(match fields.text("kind")? {
            "text" => Block::Text { text: fields.localized("text").unwrap_or_default() },
            "buttons" => Block::Buttons { text: fields.localized("text"), buttons: fields.list("buttons", Button::read) },
            "card" => Block::Card(Card::read(fields)),
            "carousel" => Block::Carousel { items: fields.list("items", Card::read), items_from: fields.path("items_from") },
            "list" => {
                Block::List { title: fields.template("title"), items: fields.list("items", ListItem::read), items_from: fields.path("items_from") }
            }
            "media" => Block::Media { media: fields.string("media"), url: fields.template("url").unwrap_or_default(), alt: fields.template("alt") },
            "custom" => Block::Custom { schema: fields.string("schema"), payload: fields.filling("payload").unwrap_or_default() },
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
    fn read(fields: Of<'_>) -> Card {
        Card {
            title: fields.template("title").unwrap_or_default(),
            subtitle: fields.template("subtitle"),
            image_url: fields.template("image_url"),
            buttons: fields.list("buttons", Button::read),
        }
    }

    /// Returns the default card for an item of a list.
    pub fn of_item() -> Card {
        Card { title: Template::from("{{ item.title }}".to_owned()), subtitle: None, image_url: None, buttons: Vec::new() }
    }

    /// Converts the card into a list entry.
    pub fn into_item(self) -> ListItem {
        ListItem { title: self.title, subtitle: self.subtitle, value: None }
    }
}

impl ListItem {
    fn read(fields: Of<'_>) -> ListItem {
        ListItem { title: fields.template("title").unwrap_or_default(), subtitle: fields.template("subtitle"), value: fields.filling("value") }
    }
}

impl Button {
    pub(super) fn read(fields: Of<'_>) -> Button {
        let label = fields.template("label").unwrap_or_default();
        Button { id: fields.string("id"), label, value: fields.filling("value"), url: fields.template("url") }
    }
}
