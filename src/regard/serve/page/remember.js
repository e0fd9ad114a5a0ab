// What a browser remembers for this page: a choice for good, a key until the tab is closed. Some remember nothing.

export function remember(name, value, store = "localStorage") {
  try {
    if (value === null) window[store].removeItem(name);
    else window[store].setItem(name, value);
  } catch {
    // then it holds for this page only
  }
}

export function recall(name, store = "localStorage") {
  try {
    return window[store].getItem(name);
  } catch {
    return null;
  }
}
