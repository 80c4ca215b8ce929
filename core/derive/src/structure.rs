//! Structs: their fields are members of an object.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataStruct, DeriveInput, Error, Fields, LitStr, Result};

use crate::attributes::{TypeAttributes, doc_comment};
use crate::member::Member;

/// Implements the traits of an object.
pub fn implement(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let Fields::Named(fields) = &data.fields else { return Err(Error::new_spanned(input, "expected named fields")) };
    let attributes = TypeAttributes::read(&input.attrs)?;
    let members: Vec<Member<'_>> = fields.named.iter().map(Member::new).collect::<Result<_>>()?;
    if let Some(member) = members.iter().find(|member| member.attributes.of.is_some() && attributes.tag.is_none()) {
        return Err(Error::new_spanned(member.field, "`of` needs a `tag` of the type"));
    }
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let lists = member_lists(members.iter().filter(|member| member.attributes.of.is_none()));
    let object = object_shape(&attributes, &members)?;
    let shape = attributes.define(object, &doc_comment(&input.attrs));
    let reads = read_fields(&members);
    let has_kinds = members.iter().any(|it| it.attributes.has_kinds);
    let absent = (!has_kinds).then(|| {
        quote! {
            impl #generics #name #arguments #bounds {
                fn read_all(fields: crate::flow::shape::Fields<'_>) -> Self {
                    #name { #reads }
                }
            }

            impl #generics crate::flow::shape::Absent for #name #arguments #bounds {
                fn absent() -> Self {
                    Self::read_all(crate::flow::shape::Fields::EMPTY)
                }
            }
        }
    });
    let read = if has_kinds { quote!(#name { #reads }) } else { quote!(Self::read_all(fields)) };
    Ok(quote! {
        impl #generics crate::flow::shape::Members for #name #arguments #bounds {
            const LISTS: &'static [&'static [crate::flow::shape::MemberShape]] = #lists;

            fn read_members(fields: crate::flow::shape::Fields<'_>) -> Option<Self> {
                Some(#read)
            }
        }

        impl #generics crate::flow::shape::Described for #name #arguments #bounds {
            const SHAPE: crate::flow::shape::Shape = #shape;

            fn read(value: &serde_json::Value) -> Option<Self> {
                <Self as crate::flow::shape::Members>::read_members(crate::flow::shape::Fields::of_object(value)?)
            }
        }

        #absent
    })
}

fn object_shape(attributes: &TypeAttributes, members: &[Member<'_>]) -> Result<TokenStream> {
    let lists = quote!(<Self as crate::flow::shape::Members>::LISTS);
    let kinds = members.iter().find(|it| it.attributes.has_kinds);
    let tag_member = members.iter().find(|it| it.attributes.is_tag).or(kinds);
    let tag_help = tag_member.map(|member| doc_comment(&member.field.attrs)).unwrap_or_default();
    if let Some(kinds) = kinds {
        let of = &kinds.field.ty;
        return Ok(quote!(crate::flow::shape::Shape::Union(&crate::flow::shape::TaggedUnion {
            tag: <#of as crate::flow::shape::Kinds>::TAG,
            tag_help: #tag_help,
            common: #lists,
            kinds: <#of as crate::flow::shape::Kinds>::KINDS,
        })));
    }
    if let Some(tag) = &attributes.tag {
        let mut names: Vec<&LitStr> = Vec::new();
        for of in members.iter().filter_map(|member| member.attributes.of.as_ref()) {
            if !names.iter().any(|name| name.value() == of.value()) {
                names.push(of);
            }
        }
        let kinds = names.iter().map(|name| {
            let lists =
                member_lists(members.iter().filter(|member| member.attributes.of.as_ref().is_some_and(|of| of.value() == name.value())));
            quote!(crate::flow::shape::Kind { name: #name, help: "", lists: #lists })
        });
        return Ok(quote!(crate::flow::shape::Shape::Union(&crate::flow::shape::TaggedUnion {
            tag: #tag,
            tag_help: #tag_help,
            common: #lists,
            kinds: &[#(#kinds),*],
        })));
    }
    Ok(if attributes.is_closed {
        quote!(crate::flow::shape::Shape::ClosedObject(#lists))
    } else {
        quote!(crate::flow::shape::Shape::Object(#lists))
    })
}

/// The lists of members in the order of the fields; a flattened field is a list of its own.
pub fn member_lists<'m>(members: impl Iterator<Item = &'m Member<'m>>) -> TokenStream {
    let mut lists: Vec<TokenStream> = Vec::new();
    let mut list: Vec<TokenStream> = Vec::new();
    let close = |list: &mut Vec<TokenStream>, lists: &mut Vec<TokenStream>| {
        if !list.is_empty() {
            lists.push(quote!(&[#(#list),*]));
            list.clear();
        }
    };
    for member in members.filter(|member| !member.attributes.has_kinds && !member.attributes.is_tag && !member.attributes.is_skipped) {
        if member.attributes.is_flattened {
            close(&mut list, &mut lists);
            let of = &member.field.ty;
            lists.push(quote!(crate::flow::shape::only_list(<#of as crate::flow::shape::Members>::LISTS)));
        } else {
            list.push(member.describe());
        }
    }
    close(&mut list, &mut lists);
    quote!(&[#(#lists),*])
}

/// The fields of a struct or variant, each with the expression that reads it.
pub fn read_fields(members: &[Member<'_>]) -> TokenStream {
    let reads = members.iter().map(|member| {
        let (field, of) = (&member.field.ident, &member.field.ty);
        let read = if member.attributes.has_kinds {
            quote!(<#of as crate::flow::shape::Kinds>::read_kind(fields)?)
        } else if member.attributes.is_flattened {
            quote!(<#of as crate::flow::shape::Members>::read_members(fields).unwrap_or_else(<#of as crate::flow::shape::Absent>::absent))
        } else if member.attributes.is_skipped {
            quote!(Default::default())
        } else {
            member.read()
        };
        quote!(#field: #read)
    });
    quote!(#(#reads),*)
}
