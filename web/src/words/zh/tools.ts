import type { tools as english } from "../en/tools";
import { afterText, besideText } from "../spacing";

export const tools: typeof english = {
  done: "完成",
  failed: "失败",
  denied: "已拒绝",
  inBackground: "后台运行中",
  options: "选项",
  chosen: "已选",
  runs: "运行中",
  input: "输入",
  result: "结果",
  answeredBy: (by) => `由${besideText(by)}回答`,
  exitCode: (n) => `退出码 ${n}`,
  ranInstead: "实际运行的内容",
  decided: (decision, by) =>
    `${by ? afterText(by) : ""}${decision === "allow" ? "已允许" : decision === "deny" ? "已拒绝" : decision}`,
  withdrawnByAgent: "智能体已撤回",
  outcome: { answered: "已回答", expired: "未在限时内回答", cancelled: "已撤回" },
  tool: {
    command: "命令",
    change: "修改",
    read: "读取",
    search: "搜索",
    mcp: "MCP",
    web: "网络",
    todo: "计划",
    agent: "子智能体",
    question: "提问",
    raw: "内容块",
  },
  toolNames: {
    edit: "编辑",
    multiedit: "编辑",
    notebookedit: "编辑笔记本",
    write: "写入",
    notebookread: "读取笔记本",
    glob: "查找文件",
    ls: "列出文件",
    toolsearch: "查找工具",
    websearch: "网络搜索",
    web_search: "网络搜索",
    webfetch: "网页",
  },
  todo: { pending: "待办", in_progress: "进行中", completed: "已完成" },
  task: {
    begun: (about) => `子智能体已启动${about ? `：${about}` : ""}`,
    behind: (about) => `在后台继续${about ? `：${about}` : ""}`,
    over: (status, about) => {
      const said = { completed: "完成", failed: "失败", stopped: "已停止" }[status] ?? status;
      return `${said}${about ? `：${about}` : ""}`;
    },
    ended: { failed: "失败", stopped: "已停止" },
  },
  earlierPlans: (n) => `${n} 个较早的版本`,
  planDone: (done, all) => `已完成 ${done}/${all}`,
};
