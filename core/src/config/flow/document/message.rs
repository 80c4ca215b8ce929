//! Blocks and buttons of messages.

use serde::Deserialize;
use serde_json::Value;

use super::text::{Filling, LocalizedText, Template};
use crate::text::path::Path;

/// A part of a message.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
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
        #[serde(default)]
        items: Vec<Card>,
        /// The list.
        items_from: Option<Path>,
    },
    /// A list.
    List {
        /// What stands above it.
        title: Option<Template>,
        /// Its entries; with `items_from` each element of a list makes one of the first.
        #[serde(default)]
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
#[derive(Debug, Clone, Deserialize)]
pub struct Card {
    /// Its title.
    pub title: Template,
    /// What stands below it.
    pub subtitle: Option<Template>,
    /// Its picture.
    pub image_url: Option<Template>,
    /// Its buttons.
    #[serde(default)]
    pub buttons: Vec<Button>,
}

/// An entry of a list.
#[derive(Debug, Clone, Deserialize)]
pub struct ListItem {
    /// Its title.
    pub title: Template,
    /// What stands below it.
    pub subtitle: Option<Template>,
    /// What it stands for.
    pub value: Option<Filling>,
}

/// A button.
#[derive(Debug, Clone, Deserialize)]
pub struct Button {
    /// Its id.
    pub id: String,
    /// What stands on it.
    pub label: Template,
    /// What it stands for.
    pub value: Option<Value>,
    /// Where it leads.
    pub url: Option<Template>,
}

impl Block {
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
    /// What shows an element of a list when the document does not say how.
    pub fn of_item() -> Card {
        Card { title: Template::from("{{ item.title }}".to_owned()), subtitle: None, image_url: None, buttons: Vec::new() }
    }

    /// The same as an entry of a list.
    pub fn into_item(self) -> ListItem {
        ListItem { title: self.title, subtitle: self.subtitle, value: None }
    }
}
