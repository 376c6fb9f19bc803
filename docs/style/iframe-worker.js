/* Search without a server: a page that is opened as a file may start no worker, so a hidden frame does its work. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.url = new URL(url, document.baseURI).href;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== inside) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      inside.document.open();
      inside.document.write("<!doctype html><title>search</title><body></body>");
      inside.document.close();
      inside.postMessage = (data) => window.dispatchEvent(new MessageEvent("message", { data, source: inside }));
      const script = inside.document.createElement("script");
      script.src = this.url;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.deliver(data));
      };
      inside.document.body.appendChild(script);
    }
    deliver(data) {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
