/** What the server sent by itself, in the order in which it came, and what the client has to offer it. */

export const DEADLINE_S = 20;

export class Inbox {
  /** @type {any[]} */ logs = [];
  /** @type {string[]} */ updated = [];
  /** @type {string[]} */ listChanges = [];
  /** @type {any[]} */ sampling = [];
  /** @type {string[]} */ faults = [];
  /** @type {string[]} */ roots = ["file:///data/r", "file:///data/a%20b"];
  /** @type {Set<() => void>} */ #waiting = new Set();

  /** To be called after each change, so that `until` looks again. */
  tell() {
    for (const look of this.#waiting) look();
  }

  /**
   * Waits until `condition` holds; throws, naming `what`, when it does not within the deadline.
   * @param {string} what
   * @param {() => boolean} condition
   */
  until(what, condition) {
    return new Promise((resolve, reject) => {
      const end = (/** @type {() => void} */ settle) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        settle();
      };
      const look = () => condition() && end(() => resolve(undefined));
      const late = () => end(() => reject(new Error(`waited ${DEADLINE_S} s in vain for ${what}`)));
      const timer = setTimeout(late, DEADLINE_S * 1000);
      this.#waiting.add(look);
      look();
    });
  }

  /**
   * The text with which the client's model answers; undefined = the user refuses.
   * @param {any} params
   */
  answer(params) {
    this.sampling.push(params);
    const prompt = params.messages[0].content.text;
    return prompt === "refuse" ? undefined : `sampled: ${prompt}`;
  }
}
