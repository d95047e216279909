// SPDX-License-Identifier: MIT OR GPL-2.0-only
// For the compiler to work on: generic code over many types. Never run.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

pub trait Shape: Debug {
    fn area(&self) -> f64;
    fn name(&self) -> String;
}

fn describe<T: Shape + Clone>(shapes: &[T]) -> BTreeMap<String, Vec<T>> {
    let mut found: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for shape in shapes {
        found.entry(shape.name()).or_default().push(shape.clone());
    }
    found.retain(|_, list| list.iter().map(|s| s.area()).sum::<f64>() > 1.0);
    found
}

macro_rules! shapes {
    ($($name:ident)*) => {
        $(
            #[derive(Debug, Clone, PartialEq, PartialOrd, Default)]
            pub struct $name { pub a: f64, pub b: Option<String>, pub c: Vec<u8> }
            impl Shape for $name {
                fn area(&self) -> f64 { self.a * self.c.iter().map(|&x| f64::from(x)).sum::<f64>() }
                fn name(&self) -> String { format!("{}-{:?}", stringify!($name), self.b) }
            }
        )*
        pub fn all() -> HashMap<&'static str, usize> {
            let mut counts = HashMap::new();
            $(
                let list: Vec<$name> = (0..9).map(|i| $name { a: f64::from(i), ..Default::default() }).collect();
                counts.insert(stringify!($name), describe(&list).len());
            )*
            counts
        }
    };
}
