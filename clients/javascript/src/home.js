// What an owner keeps: one ledger for all campaigns, and of each campaign its pins and the owner's
// key in it. In a browser: IndexedDB, of this origin in this profile.
//
// `transaction(work)` runs `work(book)` while nobody else reads or writes: `book.entries` are all
// releases so far, `book.add(entry)` writes one down, and what `work` returns is returned once that
// is on disk. Whatever `work` throws undoes it. Cannot be noticed in a browser: a profile that was
// put back to an earlier state.

const NAME = "tacit";

const settled = (request) =>
  new Promise((done, fail) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => fail(request.error);
  });

export class BrowserHome {
  static async open() {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("releases", { autoIncrement: true });
      request.result.createObjectStore("campaigns");
    };
    const home = new BrowserHome();
    home.database = await settled(request);
    await navigator.storage?.persist?.(); // so that a full disk does not forget a budget
    return home;
  }

  /** What is kept of the campaign with this first key, in hex; undefined: nothing. */
  async campaign(first) {
    const store = this.database.transaction("campaigns").objectStore("campaigns");
    return settled(store.get(first));
  }

  async keep(first, state) {
    const strict = { durability: "strict" };
    const doing = this.database.transaction("campaigns", "readwrite", strict);
    doing.objectStore("campaigns").put(state, first);
    await finished(doing);
  }

  async transaction(work) {
    const doing = this.database.transaction("releases", "readwrite", { durability: "strict" });
    const store = doing.objectStore("releases");
    const book = { entries: await settled(store.getAll()), add: (entry) => store.add(entry) };
    let result;
    try {
      result = work(book);
    } catch (problem) {
      doing.abort();
      throw problem;
    }
    await finished(doing);
    return result;
  }
}

const finished = (doing) =>
  new Promise((done, fail) => {
    doing.oncomplete = done;
    doing.onabort = doing.onerror = () => fail(doing.error);
  });
