//! Definitions in the style of XML Schema: each named element is a value, unless it contains other elements.

use serde_json::{Value, json};

use super::{Field, Kind, Shape};
use crate::text::plain_text;
use crate::turn::Map;

/// A tag: its local name and attributes.
struct Tag<'t> {
    name: &'t str,
    attributes: Vec<(&'t str, &'t str)>,
    closing: bool,
    empty: bool,
}

/// A parsed element.
struct Element<'t> {
    name: &'t str,
    type_name: Option<&'t str>,
    optional: bool,
    repeats: bool,
    options: Vec<Value>,
    holds_others: bool,
}

/// Parses a definition into its values and their details for prompts.
///
/// # Errors
/// The reason why the definition is invalid.
pub(super) fn read(text: &str) -> Result<(Vec<Field>, Map), String> {
    let elements: Vec<Element<'_>> = elements(text)?.into_iter().filter(|it| !it.holds_others).collect();
    if elements.is_empty() {
        return Err("has no named element".to_owned());
    }
    let mut fields: Vec<Field> = Vec::new();
    let mut details = Map::new();
    for element in elements {
        if details.contains_key(element.name) {
            continue;
        }
        let options: Vec<String> = element.options.iter().map(plain_text).collect();
        details.insert(element.name.to_owned(), json!({"description": null, "type": element.type_name, "enumOptions": options}));
        fields.push(Field {
            name: element.name.to_owned(),
            description: None,
            required: (!element.optional).then_some(fields.len()),
            shape: Shape { kinds: element.kinds(), options: element.options, ..Shape::default() },
        });
    }
    Ok((fields, details))
}

fn elements(text: &str) -> Result<Vec<Element<'_>>, String> {
    let mut found: Vec<Element<'_>> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut rest = text;
    while let Some((_, tail)) = rest.split_once('<') {
        if let Some(comment) = tail.strip_prefix("!--") {
            rest = comment.split_once("-->").map(|it| it.1).ok_or("has a comment that is not closed by '-->'")?;
            continue;
        }
        let (inside, after) = tail.split_once('>').ok_or("has a tag that is not closed by '>'")?;
        rest = after;
        let tag = tag(inside);
        match tag.name {
            "element" if tag.closing => drop(open.pop()),
            "element" => {
                let element = element(&tag);
                for outer in open.iter().flatten() {
                    found.get_mut(*outer).into_iter().for_each(|it| it.holds_others = true);
                }
                if !tag.empty {
                    open.push(element.as_ref().map(|_| found.len()));
                }
                found.extend(element);
            }
            "enumeration" => {
                let holder = open.last().copied().flatten().and_then(|it| found.get_mut(it));
                if let (Some(holder), Some(value)) = (holder, tag.attribute("value")) {
                    holder.options.push(Value::from(value));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn tag(inside: &str) -> Tag<'_> {
    let closing = inside.starts_with('/');
    let inside = inside.trim_start_matches('/');
    let empty = inside.ends_with('/');
    let inside = inside.trim_end_matches('/');
    let (name, mut rest) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    let mut attributes = Vec::new();
    while let Some((key, value)) = rest.split_once('=') {
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|it| ['"', '\''].contains(it)) else { break };
        let Some((value, after)) = value.get(1..).and_then(|it| it.split_once(quote)) else { break };
        attributes.push((key.trim(), value.trim()));
        rest = after;
    }
    Tag { name: local(name), attributes, closing, empty }
}

/// A name without its namespace.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn element<'t>(tag: &Tag<'t>) -> Option<Element<'t>> {
    Some(Element {
        name: tag.attribute("name").filter(|it| !it.is_empty())?,
        type_name: tag.attribute("type"),
        optional: tag.attribute("minOccurs") == Some("0"),
        repeats: tag.attribute("maxOccurs").is_some_and(|it| it != "1"),
        options: Vec::new(),
        holds_others: false,
    })
}

impl<'t> Tag<'t> {
    fn attribute(&self, name: &str) -> Option<&'t str> {
        self.attributes.iter().find(|it| it.0 == name).map(|it| it.1)
    }
}

impl Element<'_> {
    /// The kinds of its type; a type defined elsewhere in the definition leaves the value unchecked.
    fn kinds(&self) -> Vec<Kind> {
        if self.repeats {
            return vec![Kind::Array];
        }
        let kind = match local(self.type_name.unwrap_or_default()) {
            "string" | "normalizedString" | "token" | "date" | "dateTime" | "time" | "anyURI" => Kind::Text,
            "int" | "integer" | "long" | "short" | "byte" | "positiveInteger" | "nonNegativeInteger" => Kind::Integer,
            "decimal" | "double" | "float" => Kind::Number,
            "boolean" => Kind::Boolean,
            _ => return Vec::new(),
        };
        vec![kind]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_values_unless_they_hold_others() {
        let text = r#"<?xml version="1.0"?><xs:schema><!-- <element name="old"/> -->
            <xs:element name="loan"><xs:complexType><xs:sequence>
              <xs:element name="amount" type="xs:decimal"/>
              <xs:element minOccurs='0' type='xs:string' name='note'></xs:element>
              <xs:element name="term" maxOccurs="unbounded" type="xs:int" />
              <xs:element name="purpose"><xs:simpleType><xs:restriction base="xs:string">
                <xs:enumeration value="CAR"/><xs:enumeration value="HOME"/></xs:restriction></xs:simpleType></xs:element>
              <xs:element name="amount" type="xs:int"/><xs:element ref="other"/>
            </xs:sequence></xs:complexType></xs:element></xs:schema>"#;
        let (fields, details) = read(text).unwrap();
        let seen: Vec<(&str, bool, &[Kind])> =
            fields.iter().map(|it| (it.name.as_str(), it.required.is_some(), it.shape.kinds.as_slice())).collect();
        let expected: [(&str, bool, &[Kind]); 4] =
            [("amount", true, &[Kind::Number]), ("note", false, &[Kind::Text]), ("term", true, &[Kind::Array]), ("purpose", true, &[])];
        assert_eq!(seen, expected);
        assert_eq!(details["purpose"], json!({"description": null, "type": null, "enumOptions": ["CAR", "HOME"]}));
        assert_eq!(details["amount"]["type"], "xs:decimal");
    }
}
