//! `message`: sends blocks of text, buttons, cards and media. (docs/spec/flows.md#4.3)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;

use super::super::text::{FlowTemplate, LocalizedText, ValueTemplate};
use super::traits::{NodeData, NodeGroup, NodeTraits, Waiting};

/// Data of `message`.
#[derive(Debug, Clone, Described)]
pub struct MessageData {
    /// The parts of the message, in order.
    #[member(required, items(1, NO_MAX_LENGTH))]
    pub blocks: Vec<Block>,
    /// Of several variants: the `first`, the next in `sequence`, or one by `seeded_random`, which a replay repeats.
    pub selection: Selection,
    /// `none` continues; `button` waits for one of its buttons; `any` waits for any input.
    #[member(name = "await", documented_default = r#""none""#, title = "Waits for")]
    pub await_mode: Option<Await>,
    /// Duration of a typing indicator, for clients.
    pub typing_ms: Option<u64>,
}

/// How one of several variants is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Selection {
    /// The first.
    #[default]
    First,
    /// The next one each time.
    Sequence,
    /// At random, by the seed of the session.
    SeededRandom,
}

/// The input that a message waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Described)]
pub enum Await {
    /// None.
    None,
    /// A press of one of its buttons.
    Button,
    /// Any input.
    Any,
}

/// A part of a message.
#[derive(Debug, Clone, Described)]
#[described(definition = "Block", tag = "kind")]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        #[member(required)]
        text: LocalizedText,
    },
    /// Buttons below a text.
    Buttons {
        /// The text above them.
        text: Option<LocalizedText>,
        /// The buttons.
        #[member(required, items(1, 20))]
        buttons: Vec<Button>,
    },
    /// A card.
    Card(Card),
    /// Cards side by side.
    Carousel {
        /// The cards; with `items_from`, the first is the template of each card.
        #[member(items(1, 10), roots("item", "index"), roots_need = "items_from")]
        items: Vec<Card>,
        /// Variable with a list; its first 50 items become cards.
        #[member(meaning = Reads)]
        items_from: Option<VariablePath>,
    },
    /// A list of entries.
    List {
        /// Title.
        title: Option<FlowTemplate>,
        /// The entries; with `items_from`, the first is the template of each entry.
        #[member(roots("item", "index"), roots_need = "items_from")]
        items: Vec<ListItem>,
        /// Variable with a list; its first 50 items become entries.
        #[member(meaning = Reads)]
        items_from: Option<VariablePath>,
    },
    /// An image, a sound, a video or a file.
    Media {
        /// Kind of media.
        #[member(required, shape = Enum(&["image", "audio", "video", "file"]))]
        media: String,
        /// Its address.
        #[member(required)]
        url: FlowTemplate,
        /// Text in its place.
        alt: Option<FlowTemplate>,
    },
    /// A block that the client renders.
    Custom {
        /// Name that the client knows.
        #[member(required)]
        schema: String,
        /// Data; strings are templates.
        #[member(required)]
        payload: ValueTemplate,
    },
}

/// A card.
#[derive(Debug, Clone, Described)]
pub struct Card {
    /// Title.
    #[member(required)]
    pub title: FlowTemplate,
    /// Second line.
    pub subtitle: Option<FlowTemplate>,
    /// Address of an image.
    pub image_url: Option<FlowTemplate>,
    /// Buttons of the card.
    pub buttons: Vec<Button>,
}

/// An entry of a list.
#[derive(Debug, Clone, Described)]
pub struct ListItem {
    /// Title.
    #[member(required)]
    pub title: FlowTemplate,
    /// Second line.
    pub subtitle: Option<FlowTemplate>,
    /// Value that choosing the entry sends.
    pub value: Option<ValueTemplate>,
}

/// A button.
#[derive(Debug, Clone, Described)]
#[described(definition = "Button")]
pub struct Button {
    /// Id; its port is `btn:ID`.
    #[member(required, shape = ID)]
    pub id: String,
    /// Text on it.
    #[member(required)]
    pub label: LocalizedText,
    /// Value that pressing it sends; the label without it.
    pub value: Option<ValueTemplate>,
    /// Address that it opens.
    pub url: Option<FlowTemplate>,
}

impl NodeData for MessageData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { own_ports: &["btn:ID"], waiting: Waiting::AnswerToMessage, group: NodeGroup::Dialogue, ..NodeTraits::PLAIN }
    }

    fn data_ports(&self) -> Vec<String> {
        self.blocks.iter().flat_map(Block::buttons).map(|it| format!("btn:{}", it.id)).collect()
    }
}

impl Block {
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
    /// Returns the default card for an item of a list.
    pub fn default_for_item() -> Card {
        Card { title: FlowTemplate::from("{{ item.title }}".to_owned()), subtitle: None, image_url: None, buttons: Vec::new() }
    }

    /// Converts the card into a list entry.
    pub fn into_list_item(self) -> ListItem {
        ListItem { title: self.title, subtitle: self.subtitle, value: None }
    }
}
