//! Blocks and buttons of messages.

use super::read::Of;
use super::text::{Filling, LocalizedText, Template};
use crate::text::path::Path;

/// A part of a message.
#[derive(Debug, Clone)]
pub enum Block {
    /// Text.
    Text {
        /// What is said.
        text: LocalizedText,
    },
    /// Buttons to press.
    Buttons {
        /// What is said above them.
        text: Option<LocalizedText>,
        /// The buttons.
        buttons: Vec<Button>,
    },
    /// A card.
    Card(Card),
    /// Cards side by side.
    Carousel {
        /// The cards; with `items_from` each element of a list makes one of the first.
        items: Vec<Card>,
        /// The list.
        items_from: Option<Path>,
    },
    /// A list.
    List {
        /// What stands above it.
        title: Option<Template>,
        /// Its entries; with `items_from` each element of a list makes one of the first.
        items: Vec<ListItem>,
        /// The list.
        items_from: Option<Path>,
    },
    /// A picture, a sound, a film or a file.
    Media {
        /// Which of them.
        media: String,
        /// Where it is.
        url: Template,
        /// What to say of it.
        alt: Option<Template>,
    },
    /// Something that the host knows how to show.
    Custom {
        /// The name of its form.
        schema: String,
        /// What it shows.
        payload: Filling,
    },
}

/// A card.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its title.
    pub title: Template,
    /// What stands below it.
    pub subtitle: Option<Template>,
    /// Its picture.
    pub image_url: Option<Template>,
    /// Its buttons.
    pub buttons: Vec<Button>,
}

/// An entry of a list.
#[derive(Debug, Clone)]
pub struct ListItem {
    /// Its title.
    pub title: Template,
    /// What stands below it.
    pub subtitle: Option<Template>,
    /// What it stands for.
    pub value: Option<Filling>,
}

/// A button.
#[derive(Debug, Clone)]
pub struct Button {
    /// Its id.
    pub id: String,
    /// What stands on it.
    pub label: Template,
    /// What it stands for.
    pub value: Option<Filling>,
    /// Where it leads.
    pub url: Option<Template>,
}

impl Block {
    /// Reads a block; nothing of a kind that is not known.
    pub(super) fn read(of: Of<'_>) -> Option<Block> {
        Some(match of.text("kind")? {
            "text" => Block::Text { text: of.localized("text").unwrap_or_default() },
            "buttons" => Block::Buttons { text: of.localized("text"), buttons: of.list("buttons", Button::read) },
            "card" => Block::Card(Card::read(of)),
            "carousel" => Block::Carousel { items: of.list("items", Card::read), items_from: of.path("items_from") },
            "list" => {
                Block::List { title: of.template("title"), items: of.list("items", ListItem::read), items_from: of.path("items_from") }
            }
            "media" => Block::Media { media: of.string("media"), url: of.template("url").unwrap_or_default(), alt: of.template("alt") },
            "custom" => Block::Custom { schema: of.string("schema"), payload: of.filling("payload").unwrap_or_default() },
            _ => return None,
        })
    }

    /// The buttons of the block.
    pub fn buttons(&self) -> Vec<&Button> {
        match self {
            Block::Buttons { buttons, .. } | Block::Card(Card { buttons, .. }) => buttons.iter().collect(),
            Block::Carousel { items, .. } => items.iter().flat_map(|it| &it.buttons).collect(),
            Block::Text { .. } | Block::List { .. } | Block::Media { .. } | Block::Custom { .. } => Vec::new(),
        }
    }
}

impl Card {
    fn read(of: Of<'_>) -> Card {
        Card {
            title: of.template("title").unwrap_or_default(),
            subtitle: of.template("subtitle"),
            image_url: of.template("image_url"),
            buttons: of.list("buttons", Button::read),
        }
    }

    /// What shows an element of a list when the document does not say how.
    pub fn of_item() -> Card {
        Card { title: Template::from("{{ item.title }}".to_owned()), subtitle: None, image_url: None, buttons: Vec::new() }
    }

    /// The same as an entry of a list.
    pub fn into_item(self) -> ListItem {
        ListItem { title: self.title, subtitle: self.subtitle, value: None }
    }
}

impl ListItem {
    fn read(of: Of<'_>) -> ListItem {
        ListItem { title: of.template("title").unwrap_or_default(), subtitle: of.template("subtitle"), value: of.filling("value") }
    }
}

impl Button {
    pub(super) fn read(of: Of<'_>) -> Button {
        let label = of.template("label").unwrap_or_default();
        Button { id: of.string("id"), label, value: of.filling("value"), url: of.template("url") }
    }
}
