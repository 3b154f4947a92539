import type { inspect as english } from "../en/inspect";

export const inspect: typeof english = {
  layers: {
    title: (n) => `条目 ${n}`,
    none: "空。",
    noRaw: "此条目不是来自智能体的事件。",
    raw: "智能体的原始事件",
    event: "规范化事件",
    entry: "日志条目",
    frame: "帧",
    shown: "显示内容",
    loading: "加载中",
    growing: "这段文本仍在增长，尚未写入日志。",
    before: "上一个条目",
    after: "下一个条目",
    unseen: "对话中不单独显示此条目。",
  },
};
