//! `#[derive(Described)]`: a part of a document is declared once, as a Rust type, and its form, its reading and its description follow from
//! that. `convengine-config` has the traits (`flow::shape`) and shows every attribute in use.

mod attributes;
mod enumeration;
mod member;
mod structure;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Implements the traits of `flow::shape` for a struct whose fields are members, for an enum of keywords, or for an enum whose variants are
/// kinds of an object.
///
/// On the type, `#[described(…)]`:
///
/// | attribute | meaning |
/// |---|---|
/// | `definition = "Name"` | the published schema defines it once, by this name |
/// | `role = Node` | what issues within it report as their owner; `Part` without it |
/// | `closed` | an unknown member is an error rather than a warning |
/// | `tag = "kind"` | the member that holds the kind: of an enum, or of a struct with members `of` a kind |
/// | `data = NodeData` | what every variant holds implements this trait; `data` returns it, and it converts into the enum |
/// | `into = NodeKind` | what every variant holds converts into this enum, and so does the enum |
/// | `content = "data"` | the member that holds what a kind has of its own; without it, these are members of the object |
///
/// On a field, `#[member(…)]`; it describes what the document holds, the type what the engine reads:
///
/// | attribute | meaning |
/// |---|---|
/// | `name = "await"` | its name; that of the field without it |
/// | `required` | it must be there |
/// | `default = 3` | what stands for it when it is absent; a number, a boolean or a string |
/// | `default_json = "[1]"` | the same as JSON |
/// | `documented_default = "1"` | what the engine does when it is absent, for a field that tells the two apart |
/// | `shape = …` | what it allows; that of its type without it |
/// | `each = …` | what its items or members allow |
/// | `items(1, 20)` | how many items it has |
/// | `unique = Id` | by what its items differ |
/// | `codes("N006", "D001")` | the codes of issues below and above its bounds |
/// | `meaning = …` | what its strings are |
/// | `roots("args")` | the variables that its templates see in addition |
/// | `roots_need = "items_from"` | the member beside it without which they do not |
/// | `from = Type` | it is read as this type, and converted |
/// | `keep_null` | null is a value |
/// | `of = "list"` | only this kind has it |
/// | `example = "…"`, `title = "…"`, `shown_if("mode", "call")` | for people: an example as JSON, its label, and when a form shows it |
/// | `multiline` | a form edits it in several lines |
/// | `flatten` | the members of the type are members of this object |
/// | `kinds` | the type is an enum with the kinds of this object |
/// | `tag` | it holds the kind |
/// | `skip` | it is no member; it has the default of its type |
///
/// On a variant, `#[kind("NAME")]` or `#[kind(name = "NAME")]` is its name (without it, its own in lower case with `_`), `from = Type` the type
/// as which the content is read and from which the enum is converted, `optional` that the content may be absent, and `unwritten` that no
/// document names it. Several make several kinds. A doc comment is the description of what it stands on; on a keyword, what a
/// form offers.
#[proc_macro_derive(Described, attributes(described, member, kind))]
pub fn derive_described(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let implemented = match &input.data {
        Data::Struct(data) => structure::implement(&input, data),
        Data::Enum(data) => enumeration::implement(&input, data),
        Data::Union(_) => Err(Error::new_spanned(&input, "expected a struct or an enum")),
    };
    implemented.unwrap_or_else(Error::into_compile_error).into()
}
