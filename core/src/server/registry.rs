//! What a server offers, in the order of registration, with pages serialised once.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::Revision;
use crate::session::Body;
use crate::session::runtime::lock;

/// Something that can be listed.
pub(crate) trait Listed: Send + Sync + 'static {
    /// The member of the list result that holds the items, and the beginning of cursors.
    const KEY: &'static str;
    /// What it is called in messages.
    const NOUN: &'static str;

    /// What it is found by; unique in its registry.
    fn key(&self) -> &str;

    /// Its description as JSON, as `revision` knows it.
    fn json(&self, revision: Revision) -> Result<String, Error>;
}

/// Numbers an item for life: it keeps its place in lists when it is replaced, and its number is never given again.
pub(crate) type Number = u64;

/// The items of one kind.
pub(crate) struct Registry<T> {
    items: RwLock<Items<T>>,
    /// Whole result objects by revision and first item; emptied by every change.
    pages: Mutex<HashMap<(Revision, Number), Arc<str>>>,
    page_size: usize,
}

struct Items<T> {
    by_number: BTreeMap<Number, Arc<T>>,
    by_key: HashMap<String, Number>,
    next: Number,
}

impl<T: Listed> Registry<T> {
    pub(crate) fn new(page_size: usize) -> Registry<T> {
        let items = Items { by_number: BTreeMap::new(), by_key: HashMap::new(), next: 1 };
        Registry { items: RwLock::new(items), pages: Mutex::default(), page_size: page_size.max(1) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Items<T>> {
        self.items.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Items<T>> {
        self.items.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item. Its key must be new (TOOL-11, RES-13).
    pub(crate) fn insert(&self, item: T) -> Result<Number, Error> {
        let mut items = self.write();
        if items.by_key.contains_key(item.key()) {
            return Err(duplicate::<T>(item.key()));
        }
        let number = items.next;
        items.next += 1;
        items.by_key.insert(item.key().to_owned(), number);
        items.by_number.insert(number, Arc::new(item));
        lock(&self.pages).clear();
        Ok(number)
    }

    /// Puts another item, perhaps of another key, in an item's place.
    pub(crate) fn replace(&self, number: Number, item: T) -> Result<(), Error> {
        let mut items = self.write();
        let Some(old) = items.by_number.get(&number).cloned() else {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("this {} was removed before", T::NOUN)));
        };
        if items.by_key.get(item.key()).is_some_and(|holder| *holder != number) {
            return Err(duplicate::<T>(item.key()));
        }
        items.by_key.remove(old.key());
        items.by_key.insert(item.key().to_owned(), number);
        items.by_number.insert(number, Arc::new(item));
        lock(&self.pages).clear();
        drop(items);
        // Without the lock: what a handler holds is the application's.
        drop(old);
        Ok(())
    }

    /// Takes an item out; false if it was gone before.
    pub(crate) fn remove(&self, number: Number) -> bool {
        let mut items = self.write();
        let Some(item) = items.by_number.remove(&number) else { return false };
        items.by_key.remove(item.key());
        lock(&self.pages).clear();
        drop(items);
        drop(item);
        true
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<T>> {
        let items = self.read();
        items.by_key.get(key).and_then(|number| items.by_number.get(number)).cloned()
    }

    pub(crate) fn number(&self, number: Number) -> Option<Arc<T>> {
        self.read().by_number.get(&number).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.read().by_number.is_empty()
    }

    /// All items, in order.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.read().by_number.values().cloned().collect()
    }

    /// One page as a whole result object (PAGE-05, PAGE-09). `visible` picks what the peer may see; without it the page
    /// is serialised once and shared.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        revision: Revision,
        visible: Option<&dyn Fn(&T) -> bool>,
    ) -> Result<Body, Error> {
        let first = cursor.map_or(Ok(0), |cursor| self.parse_cursor(cursor))?;
        if visible.is_some() {
            return self.build(first, revision, visible).map(Body::Owned);
        }
        if let Some(page) = lock(&self.pages).get(&(revision, first)) {
            return Ok(Body::Shared(Arc::clone(page)));
        }
        // Kept under the read lock: no change can come between building and keeping.
        let items = self.read();
        let page: Arc<str> = Self::write_page(&items, first, revision, self.page_size, None)?.into();
        let mut pages = lock(&self.pages);
        // Cursors are the peer's to choose, so what is kept is bounded.
        if pages.len() > 2 * (items.by_number.len() / self.page_size + 1) {
            pages.clear();
        }
        pages.insert((revision, first), Arc::clone(&page));
        drop(items);
        Ok(Body::Shared(page))
    }

    fn build(&self, first: Number, revision: Revision, visible: Option<&dyn Fn(&T) -> bool>) -> Result<String, Error> {
        // The hook is the application's code and runs without the lock.
        let items = self.read();
        let copy = Items { by_number: items.by_number.clone(), by_key: HashMap::new(), next: items.next };
        drop(items);
        Self::write_page(&copy, first, revision, self.page_size, visible)
    }

    fn write_page(
        items: &Items<T>,
        first: Number,
        revision: Revision,
        page_size: usize,
        visible: Option<&dyn Fn(&T) -> bool>,
    ) -> Result<String, Error> {
        let mut page = format!("{{\"{}\":[", T::KEY);
        let mut listed = items.by_number.range(first..).filter(|(_, item)| visible.is_none_or(|visible| visible(item)));
        for (at, (_, item)) in listed.by_ref().take(page_size).enumerate() {
            if at > 0 {
                page.push(',');
            }
            page.push_str(&item.json(revision)?);
        }
        page.push(']');
        if let Some((next, _)) = listed.next() {
            let _ = write!(page, ",\"nextCursor\":\"{}:{next}\"", T::KEY);
        }
        page.push('}');
        Ok(page)
    }

    /// Cursors say where the next page begins. That stays true whatever is added or removed.
    fn parse_cursor(&self, cursor: &str) -> Result<Number, Error> {
        let number = cursor.strip_prefix(T::KEY).and_then(|rest| rest.strip_prefix(':')).and_then(|n| n.parse().ok());
        number.filter(|number| (1..self.read().next).contains(number)).ok_or_else(|| {
            Error::invalid_params(format!("Invalid params: {} is not a cursor of this list", Excerpt(cursor)))
        })
    }
}

fn duplicate<T: Listed>(key: &str) -> Error {
    Error::new(ErrorKind::Duplicate, format!("a {} {} is registered already", T::NOUN, Excerpt(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Item(String);

    impl Listed for Item {
        const KEY: &'static str = "tools";
        const NOUN: &'static str = "tool";

        fn key(&self) -> &str {
            &self.0
        }

        fn json(&self, _revision: Revision) -> Result<String, Error> {
            Ok(format!("\"{}\"", self.0))
        }
    }

    fn registry(items: usize, page_size: usize) -> Registry<Item> {
        let registry = Registry::new(page_size);
        for i in 0..items {
            registry.insert(Item(format!("t{i}"))).expect("new");
        }
        registry
    }

    fn page(registry: &Registry<Item>, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page {
            tools: Vec<String>,
            next_cursor: Option<String>,
        }
        let body = registry.page(cursor, Revision::V2024_11_05, None).expect("a page");
        let page: Page = serde_json::from_str(body.as_str()).expect("a page");
        (page.tools, page.next_cursor)
    }

    fn walk(registry: &Registry<Item>) -> (Vec<usize>, Vec<String>) {
        let (mut sizes, mut all, mut cursor) = (Vec::new(), Vec::new(), None);
        loop {
            let (items, next) = page(registry, cursor.as_deref());
            sizes.push(items.len());
            all.extend(items);
            match next {
                Some(next) => cursor = Some(next),
                None => return (sizes, all),
            }
        }
    }

    // proves: PAGE-09
    #[test]
    fn page_09_all_pages_together_give_each_item_once_in_order() {
        let registry = registry(250, 100);
        let (sizes, all) = walk(&registry);
        assert_eq!(sizes, [100, 100, 50]);
        assert_eq!(all, (0..250).map(|i| format!("t{i}")).collect::<Vec<_>>());
        assert_eq!(walk(&registry).1, all);
    }

    // proves: PAGE-05
    #[test]
    fn page_05_cursors_are_stable_and_bad_ones_refused() {
        let registry = registry(5, 2);
        let (_, cursor) = page(&registry, None);
        assert_eq!(page(&registry, cursor.as_deref()), page(&registry, cursor.as_deref()));
        registry.remove(1);
        assert_eq!(page(&registry, cursor.as_deref()).0, ["t2", "t3"]);
        for bad in ["garbage", "", "tools:", "tools:0", "tools:999", "prompts:1", "tools:-1"] {
            let error = registry.page(Some(bad), Revision::V2024_11_05, None).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
        }
    }

    // proves: TOOL-11
    #[test]
    fn tool_11_keys_are_unique_and_exact() {
        let registry = registry(1, 10);
        assert_eq!(registry.insert(Item("t0".into())).expect_err("twice").kind(), ErrorKind::Duplicate);
        assert!(registry.get("T0").is_none());
        let number = registry.insert(Item("other".into())).expect("new");
        assert_eq!(registry.replace(number, Item("t0".into())).expect_err("taken").kind(), ErrorKind::Duplicate);
        registry.replace(number, Item("third".into())).expect("free");
        assert!(registry.get("other").is_none() && registry.get("third").is_some());
        assert!(registry.remove(number) && !registry.remove(number));
        assert_eq!(page(&registry, None).0, ["t0"]);
    }
}
