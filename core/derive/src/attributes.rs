//! The attributes of types, fields and variants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::{Attribute, Error, Expr, Ident, Lit, LitStr, Path, Result, Token, Type, parenthesized};

/// What `#[described(…)]` says.
#[derive(Default)]
pub struct TypeAttributes {
    pub definition: Option<Expr>,
    pub role: Option<Ident>,
    pub is_closed: bool,
    pub tag: Option<LitStr>,
    pub content: Option<LitStr>,
    pub data: Option<Path>,
    pub into: Option<Path>,
}

/// What `#[member(…)]` says.
#[derive(Default)]
pub struct MemberAttributes {
    pub name: Option<LitStr>,
    pub is_required: bool,
    pub default: Option<Lit>,
    pub default_json: Option<LitStr>,
    pub documented_default: Option<LitStr>,
    pub shape: Option<Expr>,
    pub each: Option<Expr>,
    pub items: Option<(Expr, Expr)>,
    pub unique: Option<Ident>,
    pub codes: Option<(LitStr, LitStr)>,
    pub meaning: Option<Expr>,
    pub roots: Vec<LitStr>,
    pub roots_need: Option<LitStr>,
    pub from: Option<Type>,
    pub keeps_null: bool,
    pub of: Option<LitStr>,
    pub example: Option<LitStr>,
    pub title: Option<LitStr>,
    pub shown_if: Option<(LitStr, Lit)>,
    pub is_multiline: bool,
    pub is_flattened: bool,
    pub has_kinds: bool,
    pub is_tag: bool,
    pub is_skipped: bool,
}

/// What one `#[kind(…)]` says. A variant may have several; one without any has one that says nothing.
#[derive(Default)]
pub struct KindAttributes {
    pub name: Option<LitStr>,
    pub from: Option<Type>,
    pub is_optional: bool,
    pub is_unwritten: bool,
}

impl TypeAttributes {
    /// Reads those of a type.
    pub fn read(attributes: &[Attribute]) -> Result<TypeAttributes> {
        let mut read = TypeAttributes::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("described")) {
            attribute.parse_nested_meta(|meta| {
                match name_of(&meta).as_str() {
                    "definition" => read.definition = Some(meta.value()?.parse()?),
                    "role" => read.role = Some(meta.value()?.parse()?),
                    "closed" => read.is_closed = true,
                    "tag" => read.tag = Some(meta.value()?.parse()?),
                    "content" => read.content = Some(meta.value()?.parse()?),
                    "data" => read.data = Some(meta.value()?.parse()?),
                    "into" => read.into = Some(meta.value()?.parse()?),
                    _ => return Err(meta.error("expected definition, role, closed, tag, content, data or into")),
                }
                Ok(())
            })?;
            match read {
                _ if read.role.is_some() && read.definition.is_none() => {
                    return Err(Error::new_spanned(attribute, "`role` needs `definition`"));
                }
                _ if read.content.is_some() && read.tag.is_none() => return Err(Error::new_spanned(attribute, "`content` needs `tag`")),
                _ => {}
            }
        }
        Ok(read)
    }

    /// Wraps a shape in the definition that the type has, if it has one; `help` is its description.
    pub fn define(&self, shape: TokenStream, help: &str) -> TokenStream {
        let Some(name) = &self.definition else { return shape };
        let role = match &self.role {
            Some(role) => quote!(crate::flow::shape::Role::#role),
            None => quote!(crate::flow::shape::Role::Part),
        };
        quote!(crate::flow::shape::Shape::Ref(&crate::flow::shape::Definition { name: #name, shape: #shape, role: #role, help: #help }))
    }
}

impl MemberAttributes {
    /// Reads those of a field.
    pub fn read(attributes: &[Attribute]) -> Result<MemberAttributes> {
        let mut read = MemberAttributes::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("member")) {
            attribute.parse_nested_meta(|meta| read.read_one(&meta))?;
            read.check().map_err(|message| Error::new_spanned(attribute, message))?;
        }
        Ok(read)
    }

    /// Refuses attributes of which one would do nothing.
    fn check(&self) -> std::result::Result<(), &'static str> {
        let is_shaped = self.each.is_some() || self.items.is_some() || self.unique.is_some();
        match self {
            _ if self.shape.is_some() && is_shaped => Err("`shape` says everything: remove `each`, `items` and `unique`"),
            _ if self.roots_need.is_some() && self.roots.is_empty() => Err("`roots_need` needs `roots`"),
            _ if self.default.is_some() && self.default_json.is_some() => Err("expected `default` or `default_json`"),
            _ => Ok(()),
        }
    }

    fn read_one(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match name_of(meta).as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "required" => self.is_required = true,
            "default" => self.default = Some(meta.value()?.parse()?),
            "default_json" => self.default_json = Some(meta.value()?.parse()?),
            "documented_default" => self.documented_default = Some(meta.value()?.parse()?),
            "shape" => self.shape = Some(meta.value()?.parse()?),
            "each" => self.each = Some(meta.value()?.parse()?),
            "items" => self.items = Some(read_pair(meta)?),
            "unique" => self.unique = Some(meta.value()?.parse()?),
            "codes" => self.codes = Some(read_pair(meta)?),
            "meaning" => self.meaning = Some(meta.value()?.parse()?),
            "roots" => {
                let inner;
                parenthesized!(inner in meta.input);
                self.roots = inner.parse_terminated(|it| it.parse::<LitStr>(), Token![,])?.into_iter().collect();
            }
            "roots_need" => self.roots_need = Some(meta.value()?.parse()?),
            "from" => self.from = Some(meta.value()?.parse()?),
            "keep_null" => self.keeps_null = true,
            "of" => self.of = Some(meta.value()?.parse()?),
            "example" => self.example = Some(meta.value()?.parse()?),
            "title" => self.title = Some(meta.value()?.parse()?),
            "shown_if" => self.shown_if = Some(read_pair(meta)?),
            "multiline" => self.is_multiline = true,
            "flatten" => self.is_flattened = true,
            "kinds" => self.has_kinds = true,
            "tag" => self.is_tag = true,
            "skip" => self.is_skipped = true,
            _ => return Err(meta.error("unknown attribute of a member; `convengine_derive::Described` lists them")),
        }
        Ok(())
    }
}

impl KindAttributes {
    /// Reads those of a variant.
    pub fn read(attributes: &[Attribute]) -> Result<Vec<KindAttributes>> {
        let mut kinds = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("kind"))
            .map(KindAttributes::read_one)
            .collect::<Result<Vec<_>>>()?;
        if kinds.is_empty() {
            kinds.push(KindAttributes::default());
        }
        kinds.retain(|it| !it.is_unwritten);
        Ok(kinds)
    }

    fn read_one(attribute: &Attribute) -> Result<KindAttributes> {
        if let Ok(name) = attribute.parse_args::<LitStr>() {
            return Ok(KindAttributes { name: Some(name), ..KindAttributes::default() });
        }
        let mut read = KindAttributes::default();
        attribute.parse_nested_meta(|meta| {
            match name_of(&meta).as_str() {
                "name" => read.name = Some(meta.value()?.parse()?),
                "from" => read.from = Some(meta.value()?.parse()?),
                "optional" => read.is_optional = true,
                "unwritten" => read.is_unwritten = true,
                _ => return Err(meta.error("expected a name as a string, or name, from, optional or unwritten")),
            }
            Ok(())
        })?;
        Ok(read)
    }
}

/// The text of the doc comment, as one paragraph.
pub fn doc_comment(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        match &attribute.meta.require_name_value().ok()?.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The name of a variant in documents: `SeededRandom` as `seeded_random`.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

fn name_of(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(Ident::to_string).unwrap_or_default()
}

fn read_pair<A: Parse, B: Parse>(meta: &ParseNestedMeta<'_>) -> Result<(A, B)> {
    let inner;
    parenthesized!(inner in meta.input);
    let first = inner.parse()?;
    inner.parse::<Token![,]>()?;
    Ok((first, inner.parse()?))
}
